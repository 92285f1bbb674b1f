"""Tests for realm_tf.model.openvino_encoder."""

from concurrent import futures
from importlib import util
import subprocess
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import interfaces
from realm_tf.model import bert
from realm_tf.model import openvino_encoder
from realm_tf.model import readers
from tests import source_tree

# For each of three rows: lengths of the first and the second segment.
_TEXTS = ((3, 8), (3, 1), (1, 0))
_PAIRS = ((3, 10), (5, 2), (2, 21), (4, 7))


def _config(**kwargs):
  return config_lib.BertConfig(
    vocab_size=50,
    hidden_size=24,
    num_layers=3,
    num_heads=3,
    intermediate_size=40,
    max_positions=32,
    initializer_range=0.3,
    **kwargs,
  )


def _tokens(lengths=_TEXTS):
  ends = np.sum(lengths, axis=1, keepdims=True)
  places = np.arange(ends.max())
  mask = places < ends
  types = mask & (places >= np.array(lengths)[:, :1])
  ids = np.random.default_rng(0).integers(1, 50, mask.shape) * mask
  return {
    'input_word_ids': ids.astype(np.int32),
    'input_mask': mask.astype(np.int32),
    'input_type_ids': types.astype(np.int32),
  }


# Compiles graphs, frees them in the same order, and gets a signal. OpenVINO
# would remove absl's handler.
_SIGNALLED = """
import logging
import signal
from absl import logging as absl_logging
import numpy as np
absl_logging.use_absl_handler()
from realm_tf.model import openvino_encoder as lib

ones = np.ones([64, 64], np.float32)
signal.signal(signal.SIGTERM, lambda *_: print('handled'))
runs = []
for i in range(6):
  x = lib.ops.parameter([64, 64], np.float32)
  graph = lib.openvino.Model([lib.ops.matmul(x, x, False, False)], [x])
  runs.append(lib.compile_graph(graph, 'bfloat16'))
  runs[-1]([ones])
  while i % 3 == 2 and runs:
    del runs[0]
  signal.raise_signal(signal.SIGTERM)
print(absl_logging.get_absl_handler() in logging.root.handlers)
"""


class OpenvinoEncoderTest(tf.test.TestCase, parameterized.TestCase):
  def _exact(self, config):
    encoder = bert.build_encoder(config)
    for variable in encoder.variables:  # Replaces biases of 0 and gains of 1.
      noise = tf.random.stateless_normal(variable.shape, seed=[1, 2])
      variable.assign_add(0.1 * noise)
    return encoder, encoder(_tokens())

  @parameterized.parameters('gelu_tanh', 'gelu', 'relu')
  def test_agrees_with_the_exact_encoder(self, activation):
    config = _config(activation=activation)
    encoder, exact = self._exact(config)
    whole, cls_only = (
      openvino_encoder.OpenvinoEncoder(encoder, config, cls_only=cls_only)
      for cls_only in (False, True)
    )
    # They have copies of the variables.
    encoder.variables[0].assign_add(tf.ones_like(encoder.variables[0]))
    actual, short = whole(_tokens()), cls_only(_tokens())
    self.assertEqual(short['sequence_output'].shape, (3, 1, 24))
    for ours, expected in (
      (actual['pooled_output'], exact['pooled_output']),
      (short['pooled_output'], exact['pooled_output']),
      (short['sequence_output'], exact['sequence_output'][:, :1]),
      *(
        (
          actual['sequence_output'][row, :length],
          exact['sequence_output'][row, :length],
        )
        for row, length in enumerate(map(sum, _TEXTS))
      ),
    ):
      self.assertAllClose(ours, expected, atol=1e-5)

  def test_bfloat16_is_near(self):
    encoder, exact = self._exact(_config())
    near = openvino_encoder.OpenvinoEncoder(encoder, _config(), 'bfloat16')
    pooled, expected = (
      each['pooled_output'] for each in (near(_tokens()), exact)
    )
    cosine = np.sum(pooled * expected, axis=1) / (
      np.linalg.norm(pooled, axis=1) * np.linalg.norm(expected, axis=1)
    )
    self.assertAllGreater(cosine, 0.999)

  def test_signals_and_logs_work_after_graphs_are_freed(self):
    done = subprocess.run(
      [sys.executable, '-X', 'faulthandler', '-c', _SIGNALLED],
      cwd=source_tree.ROOT,
      capture_output=True,
      text=True,
      check=True,
    )
    self.assertEqual(done.stdout.split(), ['handled'] * 6 + ['True'])

  def test_a_missing_openvino_is_named(self):
    spec = util.spec_from_file_location('another', openvino_encoder.__file__)
    with (
      mock.patch.dict(sys.modules, openvino=None),
      self.assertRaisesRegex(
        errors.UserError, r"pip install 'realm_tf\[openvino\]'"
      ),
    ):
      spec.loader.exec_module(util.module_from_spec(spec))


class OpenvinoReaderTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.parameters(
    (False, 'mlp'), (True, 'mlp'), (False, 'linear'), (True, 'linear_null')
  )
  def test_agrees_with_the_exact_reader(self, has_words, head):
    encoder = bert.build_encoder(_config())
    is_inner = np.arange(50) % 5 == 0 if has_words else None
    exact = readers.SpanReader(
      encoder, 8, 4, is_inner=is_inner, null_spans=has_words, head=head
    )
    tokens = _tokens(_PAIRS)
    pairs = {name: ids[:, None] for name, ids in tokens.items()}
    exact(pairs, 20)
    for variable in exact.variables:  # Replaces biases of 0 and gains of 1.
      noise = tf.random.stateless_normal(variable.shape, seed=[1, 2])
      variable.assign_add(0.1 * noise)
    reader = openvino_encoder.OpenvinoReader(exact, _config(), 'float32')
    for body_length in (20, 22):  # The longest body, and a longer one.
      scores = exact(pairs, body_length)
      expected = scores.spans[:, 0].numpy()
      actual, null = reader(tokens, body_length)
      self.assertAllClose(null, scores.null[:, 0], rtol=1e-4, atol=1e-4)
      self.assertEqual(actual.dtype, np.float32)
      np.testing.assert_array_equal(
        interfaces.has_score(actual), interfaces.has_score(expected)
      )
      self.assertAllClose(actual, expected, rtol=1e-4, atol=1e-4)
    # 9 + 8 + 7 + 6 spans in a body of 9 wordpieces.
    number = interfaces.has_score(actual)[0].sum()
    (self.assertLess if has_words else self.assertEqual)(number, 30)

  def test_one_row_of_another_size(self):
    reader = openvino_encoder.OpenvinoReader(*_small(), 'float32')
    tokens = _tokens(_PAIRS)
    all_rows = reader(tokens, 20).spans
    some = {name: ids[1:2, :7] for name, ids in tokens.items()}
    one = reader(some, 1).spans
    self.assertEqual(one.shape, (1, 1, 4))
    self.assertAllClose(one[0], all_rows[1, :1], rtol=1e-5, atol=1e-5)

  def test_threads_take_turns(self):
    reader = openvino_encoder.OpenvinoReader(*_small(), 'float32')
    tokens = _tokens(_PAIRS)
    expected = reader(tokens, 20).spans
    with futures.ThreadPoolExecutor(4) as pool:
      for actual in pool.map(lambda _: reader(tokens, 20), range(40)):
        np.testing.assert_array_equal(actual.spans, expected)


def _small():
  exact = readers.SpanReader(
    bert.build_encoder(_config()), hidden_size=8, max_span_width=4
  )
  exact({name: ids[:, None] for name, ids in _tokens(_PAIRS).items()}, 20)
  return exact, _config()


if __name__ == '__main__':
  absltest.main()
