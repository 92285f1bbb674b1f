"""Tests for realm_tf.exchange.t5."""

import json
import os

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.exchange import hugging_face
from realm_tf.exchange import model_writing
from realm_tf.exchange import t5
from realm_tf.model import seq2seq
from realm_tf.model import weights
from realm_tf.qa import loading
from realm_tf.run import layout
from realm_tf.training import closed_book_trainer
from realm_tf.training import job as job_lib
from tests import sentencepiece_model
from tests import tiny

_CONFIG = {
  'model_type': 't5',
  'vocab_size': 7,
  'd_model': 4,
  'd_kv': 2,
  'd_ff': 3,
  'num_layers': 2,
  'num_heads': 2,
  'feed_forward_proj': 'gated-gelu',
  'tie_word_embeddings': False,
}


_ATTENTION = ('q', 'k', 'v', 'o')
_PREFIX = 't5_transformer/'


def _their_names():
  """Returns Hugging Face's names of the model's weights by ours."""
  names = {
    'shared/embedding': 'shared.weight',
    'decoder/logits/kernel': 'lm_head.weight',
  }
  for side, last in (('encoder', 1), ('decoder', 2)):
    begin = f'{side}.block.0.layer.0.SelfAttention'
    names |= {
      f'{side}/relative_posemb/rel_embedding/embedding': (
        f'{begin}.relative_attention_bias.weight'
      ),
      f'{side}/final_layer_norm/scale': f'{side}.final_layer_norm.weight',
    }
    for i in range(2):
      theirs, ours = f'{side}.block.{i}.layer.', f'{side}/{side}_block_{i}/'
      layers = ['SelfAttention', 'EncDecAttention'][:last]
      for n, (layer, own) in enumerate(zip(layers, ('self', 'cross'))):
        own = f'{ours}{own}_attention/'
        names[own + 'layer_norm/scale'] = f'{theirs}{n}.layer_norm.weight'
        for part in _ATTENTION:
          name = f'{own}attention/{part}/kernel'
          names[name] = f'{theirs}{n}.{layer}.{part}.weight'
      names[ours + 'ffn_layer_norm/scale'] = f'{theirs}{last}.layer_norm.weight'
      for part in ('wi_0', 'wi_1', 'wo'):
        name = f'{theirs}{last}.DenseReluDense.{part}.weight'
        names[f'{ours}ffn/{part}/kernel'] = name
  return {_PREFIX + ours: theirs for ours, theirs in names.items()}


_THEIR_NAMES = _their_names()


class ImportTest(tf.test.TestCase, parameterized.TestCase):
  """Tests on directories that they write."""

  def setUp(self):
    super().setUp()
    tf_keras.utils.set_random_seed(1)
    self.directory = self.create_tempdir().full_path
    self.model = seq2seq.Seq2Seq(
      config_lib.Seq2SeqConfig(
        vocab_size=7,
        hidden_size=4,
        head_size=2,
        num_layers=2,
        num_heads=2,
        intermediate_size=3,
        activation='gated_gelu',
        tied_logits=False,
      )
    )
    self.arrays = {
      _THEIR_NAMES[name]: np.ascontiguousarray(
        value.T if name.endswith('/kernel') else value
      )
      for name, value in weights.values(self.model.variables).items()
    }

  def _load(self, **changes):
    with open(os.path.join(self.directory, 'config.json'), 'w') as file:
      json.dump({**_CONFIG, **changes}, file)
    path = os.path.join(self.directory, 'model.safetensors')
    weights.write(self.arrays, path)
    return t5.read(self.directory)

  def test_reads_every_weight(self):
    _, loaded = self._load()
    expected = weights.values(self.model.variables)
    self.assertCountEqual(loaded, expected)
    for name, value in expected.items():
      self.assertAllEqual(loaded[name], value, name)

  def test_missing_and_extra_weights_are_mistakes(self):
    self._write_pieces('a')
    self.arrays['lm_head.bias'] = np.zeros(7, np.float32)
    with self.assertRaisesRegex(errors.UserError, 'has .*lm_head.bias'):
      self._import()
    for name in ('lm_head.bias', 'shared.weight', 'lm_head.weight'):
      self.arrays.pop(name)
    with self.assertRaisesRegex(errors.UserError, 'lacks .*/logits/kernel'):
      self._import()

  def _import(self):
    self._load()
    found = hugging_face.load(self.directory)
    written = os.path.join(self.create_tempdir().full_path, 'imported')
    model_writing.write(found, written)
    return written

  def test_an_imported_t5_is_trained_and_answers(self):
    self._write_pieces('a', 'b', 'c')  # With <pad>, </s>, <unk>.
    imported = self._import()
    corpus_dir = tiny.write_corpus(self.directory)
    asked = [questions_lib.Question('a b', ('c',))]
    job = config_lib.ClosedBookConfig(
      optimizer=config_lib.OptimizerConfig(3e-2, 80, warmup_steps=2),
      batch_size=1,
      input_tokens=4,
      answer_tokens=3,
    )
    inputs = job_lib.open_inputs(tiny.config(closed_book=job), corpus_dir)
    run_dir = os.path.join(self.directory, 'run')
    closed_book_trainer.run(
      inputs, asked, job_lib.Job(run_dir, job_lib.InitFrom(imported))
    )
    (answer,) = loading.load_closed_book(run_dir, corpus_dir).answer(['a b'])
    self.assertEqual(answer.prediction, 'c')
    self.assertGreater(answer.probability, 0.5)  # 1/49 at random.

  def test_needs_a_fitting_sentencepiece_model(self):
    with self.assertRaisesRegex(errors.UserError, '--vocab_file'):
      self._import()
    self._write_pieces('a', 'b', 'c', 'd', 'e')  # 8 pieces, 7 embeddings.
    with self.assertRaisesRegex(errors.UserError, '8 pieces'):
      self._import()

  def test_refuses_sentences_of_other_wordpieces(self):
    self._write_pieces('a')
    corpus_dir = tiny.write_corpus(self.directory)
    inputs = job_lib.open_inputs(tiny.config(), corpus_dir)
    queries = tiny.open_queries(self.directory, [('A b.', [(0, 1)], -1)])
    run_dir = os.path.join(self.directory, 'run')
    with self.assertRaisesRegex(errors.UserError, 'Give --questions'):
      closed_book_trainer.run(
        inputs, queries, job_lib.Job(run_dir, job_lib.InitFrom(self._import()))
      )
    self.assertFalse(os.path.exists(run_dir))

  def _write_pieces(self, *words):
    with open(layout.sentencepiece_file(self.directory), 'wb') as file:
      file.write(sentencepiece_model.model(words))

  @parameterized.parameters(
    ({'model_type': 'bart'}, 'model_type'),
    ({'feed_forward_proj': 'gated-silu'}, 'gated-silu'),
    ({'d_model': 'many'}, 'd_model'),
    ({'d_model': 10**9}, 'hidden_size'),
  )
  def test_other_models_are_mistakes(self, changes, said):
    with self.assertRaisesRegex(errors.UserError, said):
      self._load(**changes)


if __name__ == '__main__':
  tf.test.main()
