"""Tests the paper's chain: BERT starts all networks, then ICT trains two."""

import os
import shutil
import tempfile

from absl.testing import absltest
import numpy as np

from realm_tf.exchange import hugging_face
from realm_tf.exchange import model_writing
from realm_tf.model import realm_model
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.training import inverse_cloze_run
from realm_tf.training import job
from tests import tiny
from tests.exchange import small_bert

_CONFIG = small_bert.CONFIG | {  # The sizes of `tiny.config`.
  'architectures': ['BertForPreTraining'],
  'hidden_size': 8,
  'num_hidden_layers': 1,
  'intermediate_size': 8,
  'vocab_size': 12,
  'max_position_embeddings': 32,
}
_TRANSFORM = 'cls.predictions.transform'
_HEAD = {
  f'{_TRANSFORM}.dense.weight': (8, 8),
  f'{_TRANSFORM}.dense.bias': (8,),
  f'{_TRANSFORM}.LayerNorm.weight': (8,),
  f'{_TRANSFORM}.LayerNorm.bias': (8,),
  'cls.predictions.bias': (12,),
}
_WORDS = 'word_embeddings/embeddings'


class FromBertTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.enter_context(tiny.eagerly())
    cls.shared = cls.enter_context(tempfile.TemporaryDirectory())
    cls.inputs = job.open_inputs(tiny.config(), tiny.write_corpus(cls.shared))
    rng = np.random.default_rng(0)
    cls.bert = {
      f'bert.{name}': value
      for name, value in small_bert.random_weights(_CONFIG, rng).items()
    } | {
      name: rng.normal(size=shape).astype(np.float32)
      for name, shape in _HEAD.items()
    }
    source = os.path.join(cls.shared, 'hugging_face')
    small_bert.write(source, _CONFIG, cls.bert, tiny.TOKENIZER.vocabulary)
    cls.bert_dir = os.path.join(cls.shared, 'bert')
    model_writing.write(hugging_face.load(source), cls.bert_dir)
    cls._warm_start(os.path.join(cls.shared, 'ict'), cls.bert_dir)

  def setUp(self):
    super().setUp()
    self.run_dir = os.path.join(self.create_tempdir().full_path, 'ict')
    shutil.copytree(os.path.join(self.shared, 'ict'), self.run_dir)

  @classmethod
  def _warm_start(cls, run_dir, init_from=None, resume=False):
    run = job.Job(run_dir, job.InitFrom(init_from), resume=resume)
    inverse_cloze_run.run(cls.inputs, [], run)

  def _pretraining_model(self, init_from):
    """Returns the weights that pre-training starts from."""
    model = realm_model.RealmModel(
      self.inputs.config.model, [realm_model.MASKED_LM, realm_model.EMBEDDER]
    )
    job.load_params(model, self.inputs, job.InitFrom(init_from))
    return weights.values(model.variables)

  def _published(self):
    newest = versions.newest(layout.params_root(self.run_dir))
    return weights.read(layout.params_file(newest.path))

  def _assert_reader_is_bert(self, arrays):
    words = self.bert['bert.embeddings.word_embeddings.weight']
    np.testing.assert_array_equal(arrays[f'reader_bert/{_WORDS}'], words)
    layer = 'reader_bert/transformer/layer_0/intermediate/kernel'
    theirs = self.bert['bert.encoder.layer.0.intermediate.dense.weight']
    np.testing.assert_array_equal(arrays[layer], theirs.T)
    for ours, theirs in (
      ('transform/dense/kernel', f'{_TRANSFORM}.dense.weight'),
      ('transform/LayerNorm/gamma', f'{_TRANSFORM}.LayerNorm.weight'),
      ('output_bias/bias', 'cls.predictions.bias'),
    ):
      np.testing.assert_array_equal(
        arrays[f'masked_lm/{ours}'], self.bert[theirs].T
      )

  def test_a_warm_start_trains_the_embedders_and_publishes_the_rest(self):
    arrays = self._pretraining_model(self.run_dir)
    self._assert_reader_is_bert(arrays)
    words = self.bert['bert.embeddings.word_embeddings.weight']
    for tower in ('query', 'block'):
      moved = arrays[f'{tower}_bert/{_WORDS}'] - words
      # Normalized means of an untrained BERT hardly differ, so the gradients
      # are small.
      self.assertGreater(np.abs(moved).max(), 1e-4)
    # The next warm start, for example on questions, publishes the rest too.
    again = f'{self.run_dir}_again'
    self._warm_start(again, self.run_dir)
    self._assert_reader_is_bert(self._pretraining_model(again))

  def test_a_resumed_warm_start_publishes_the_same(self):
    os.remove(layout.done_file(self.run_dir))
    before = self._published()
    # Like a kill before publication.
    shutil.rmtree(layout.params_root(self.run_dir))
    self._warm_start(self.run_dir, resume=True)  # It needs no init_from.
    after = self._published()
    self.assertEqual(before.keys(), after.keys())
    self._assert_reader_is_bert(after)


if __name__ == '__main__':
  absltest.main()
