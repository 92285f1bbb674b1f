"""Tests plans by Google's TPU compiler, where it is installed."""

import dataclasses
import os
import subprocess

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.model import precision
from realm_tf.tpu import chips
from realm_tf.tpu import lowering
from realm_tf.tpu import plan
from realm_tf.tpu import programs
from realm_tf.tpu import tpu_compiler
from tests import source_tree
from tests import tiny

_PYTHON = os.path.join(
  os.environ.get('REALM_TPU_VENV', str(source_tree.ROOT / '.venv-tpu')),
  'bin/python',
)
_VOCABULARY = 512
_WIDTH = 128
_LAYERS = 3  # Of one reader: all but the last are a loop.
_SEQ2SEQ = {
  'vocab_size': _VOCABULARY,
  'hidden_size': _WIDTH,
  'num_layers': 1,
  'num_heads': 2,
  'head_size': 64,
  'intermediate_size': _WIDTH,
}


def _config(num_layers):
  """Returns a config whose products fill a TPU's tiles."""
  encoder = tiny.bert(
    vocab_size=_VOCABULARY,
    hidden_size=_WIDTH,
    intermediate_size=_WIDTH,
    dropout_rate=0.1,
    attention_dropout_rate=0.1,
  )
  return tiny.config(
    model={
      'embedder_bert': encoder,
      'reader_bert': dataclasses.replace(encoder, num_layers=num_layers),
      'embedder': {'embedding_size': _WIDTH},
      'train_dtype': 'bfloat16',
    },
    pretraining={'batch_size': 8},
  )


def _has_compiler():
  # An installation that was interrupted has the interpreter only.
  imports = [_PYTHON, '-c', 'import jax, libtpu']
  return os.path.exists(_PYTHON) and not subprocess.call(
    imports, stderr=subprocess.DEVNULL
  )


@absltest.skipUnless(
  _has_compiler(), f'No TPU compiler; {tpu_compiler.REMEDY}.'
)
class CompiledTest(parameterized.TestCase):
  def _row(self, name, topology, num_layers=1, **changes):
    (where,) = chips.parse(topology)
    config = tiny.changed(_config(num_layers), **changes)
    with precision.planned_for_tpu():
      program = programs.build(name, config, where.num_cores, 100_000)[-1]
      lowered = lowering.lower(program)
    compiler = tpu_compiler.Compiler(_PYTHON)
    return plan.row(lowered, where, compiler.compile(lowered, topology))

  def test_a_pretraining_step_compiles_for_a_core(self):
    row = self._row('pretraining', 'v5e:2x2', _LAYERS)
    self.assertEqual((row.problem, row.batch), ('', 2))
    compiled = row.compiled
    # Of three encoders, two with one layer: word embeddings; of a layer, four
    # matrices of attention and two of the feed-forward layer. Each weight has
    # two moments, all float32.
    weights = 3 * _VOCABULARY * _WIDTH + 6 * (_LAYERS + 2) * _WIDTH**2
    self.assertBetween(compiled.argument_bytes, 12 * weights, 24 * weights)
    # The updates share the memory of the variables; logs are left.
    self.assertLess(compiled.output_bytes, 10_000)
    # The gradients, and few numbers more, are summed over the cores.
    self.assertBetween(compiled.reduced_bytes, 4 * weights, 5 * weights)
    # Each weight and moment is read once and written once.
    self.assertGreater(compiled.traffic_bytes, 24 * weights)
    # A wordpiece of the reader's 2 * 2 pairs of 18 meets 6 matrices in each
    # layer, twice as often backwards; two FLOP each.
    products = 3 * 2 * (2 * 2 * 18) * 6 * _LAYERS * _WIDTH**2
    self.assertGreater(compiled.flops, products)

  @parameterized.parameters(
    ('finetuning', 4),
    ('inverse_cloze', 4),
    ('closed_book', 4),
    ('block_embedding', 1),
  )
  def test_other_programs_compile(self, name, cores):
    row = self._row(
      name,
      'v5e:2x2',
      inverse_cloze={'batch_size': 16, 'chunk_size': 2},
      finetuning={'batch_size': 4},
      closed_book={'batch_size': 4, 'input_tokens': 16, 'answer_tokens': 4},
      model={'seq2seq': _SEQ2SEQ},
    )
    self.assertEqual(row.problem, '')
    # Programs with updates sum their gradients.
    self.assertEqual(row.compiled.reduced_bytes > 0, cores > 1)

  def test_a_search_reads_each_block_once(self):
    row = self._row('retrieval', 'v5e:1x1')
    self.assertEqual(row.problem, '')
    rows = 100_000 * _WIDTH * 4
    self.assertBetween(row.compiled.traffic_bytes, 0.9 * rows, 3 * rows)


if __name__ == '__main__':
  absltest.main()
