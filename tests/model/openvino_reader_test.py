"""Tests for openvino_encoder's reader against the exact reader."""

from concurrent import futures

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.model import bert
from realm_tf.model import exclusion
from realm_tf.model import openvino_encoder
from realm_tf.model import span_reader

_CONFIG = config_lib.BertConfig(
  vocab_size=50,
  hidden_size=24,
  num_layers=2,
  num_heads=3,
  intermediate_size=40,
  max_positions=32,
  initializer_range=0.3,
)
# For each of four rows: wordpieces of [CLS] x [SEP], and of the body.
_LENGTHS = ((3, 9), (5, 1), (2, 20), (4, 6))


def _tokens():
  length = max(question + body + 1 for question, body in _LENGTHS)
  places = np.arange(length)
  ends = np.array([question + body + 1 for question, body in _LENGTHS])
  mask = places < ends[:, None]
  types = mask & (places >= np.array(_LENGTHS)[:, :1])
  ids = np.random.default_rng(0).integers(1, 50, mask.shape) * mask
  return {
    'input_word_ids': ids.astype(np.int32),
    'input_mask': mask.astype(np.int32),
    'input_type_ids': types.astype(np.int32),
  }


class OpenvinoReaderTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.parameters(False, True)
  def test_agrees_with_the_exact_reader(self, has_words):
    encoder = bert.build_encoder(_CONFIG)
    is_inner = np.arange(50) % 5 == 0 if has_words else None
    exact = span_reader.SpanReader(
      encoder, 8, 4, is_inner=is_inner, null_spans=has_words
    )
    tokens = _tokens()
    pairs = {name: ids[:, None] for name, ids in tokens.items()}
    exact(pairs, 20)
    for variable in exact.variables:  # Replaces biases of 0 and gains of 1.
      noise = tf.random.stateless_normal(variable.shape, seed=[1, 2])
      variable.assign_add(0.1 * noise)
    reader = openvino_encoder.OpenvinoReader(exact, _CONFIG, 'float32')
    for body_length in (20, 22):  # The longest body, and a longer one.
      scores = exact(pairs, body_length)
      expected = scores.spans[:, 0].numpy()
      actual, null = reader(tokens, body_length)
      self.assertAllClose(null, scores.null[:, 0], rtol=1e-4, atol=1e-4)
      self.assertEqual(actual.dtype, np.float32)
      np.testing.assert_array_equal(
        exclusion.exists(actual), exclusion.exists(expected)
      )
      self.assertAllClose(actual, expected, rtol=1e-4, atol=1e-4)
    # 9 + 8 + 7 + 6 spans in a body of 9 wordpieces.
    number = exclusion.exists(actual)[0].sum()
    (self.assertLess if has_words else self.assertEqual)(number, 30)

  def test_one_row_of_another_size(self):
    reader = openvino_encoder.OpenvinoReader(*_small(), 'float32')
    tokens = _tokens()
    all_rows = reader(tokens, 20).spans
    some = {name: ids[1:2, :7] for name, ids in tokens.items()}
    one = reader(some, 1).spans
    self.assertEqual(one.shape, (1, 1, 4))
    self.assertAllClose(one[0], all_rows[1, :1], rtol=1e-5, atol=1e-5)

  def test_threads_take_turns(self):
    reader = openvino_encoder.OpenvinoReader(*_small(), 'float32')
    tokens = _tokens()
    expected = reader(tokens, 20).spans
    with futures.ThreadPoolExecutor(4) as pool:
      for actual in pool.map(lambda _: reader(tokens, 20), range(40)):
        np.testing.assert_array_equal(actual.spans, expected)


def _small():
  exact = span_reader.SpanReader(
    bert.build_encoder(_CONFIG), hidden_size=8, max_span_width=4
  )
  exact({name: ids[:, None] for name, ids in _tokens().items()}, 20)
  return exact, _CONFIG


if __name__ == '__main__':
  absltest.main()
