"""Tests for realm_tf.exchange.hub_modules, in a process without realm_tf."""

import os
import tempfile

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from realm_tf.data import joining
from realm_tf.data import sampling
from realm_tf.exchange import hub_modules
from realm_tf.index import model_files
from realm_tf.model import realm_model
from tests import tiny
from tests.exchange import loaded
from tests.exchange import models

_TEXTS = ['a b. C d É', '', 'e … f']
_TITLES = ['a', 'B c d', '']
_QUERIES = ['a [MASK] c [MASK].', '[MASK]', 'a b']
_PARTS = (realm_model.EMBEDDER, realm_model.MASKED_LM)


def _ids(texts, length):
  rows = tiny.TOKENIZER.token_ids_batch(texts)
  return tf.constant(sampling.pad_rows(rows, length))


class HubExportTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    directory = tempfile.TemporaryDirectory()
    cls.addClassCleanup(directory.cleanup)
    corpus = tiny.write_corpus(directory.name, models.ARTICLES)
    path = os.path.join(directory.name, 'model')
    models.write_model(path, corpus, _PARTS)
    cls.opened = model_files.open_model(path, _PARTS)
    cls.model, cls.lengths = cls.opened.model, cls.opened.config.lengths
    cls.paths = hub_modules.export(path, os.path.join(directory.name, 'hub'))
    cls.packed = joining.pack(
      _ids(_TITLES, 4), _ids(_TEXTS, 8), *tiny.SPECIAL_IDS, 15
    )
    positions = [[1, 2], [0, 3], [4, 0]]
    packed = {name: ids.numpy().tolist() for name, ids in cls.packed.items()}
    packed['mlm_positions'] = cls.positions = positions
    request = dict(zip(('query', 'block', 'knowledge'), cls.paths, strict=True))
    request['inputs'] = {
      'texts': _TEXTS,
      'titles': _TITLES,
      'queries': _QUERIES,
      'packed': packed,
    }
    cls.results = models.run_alone(loaded.__file__, request)

  def _assert_equal(self, result, expected):
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)

  def test_queries_are_embedded_as_by_the_model(self):
    length = self.lengths.query_tokens
    expected = self.model.embed_queries(
      joining.pack(_ids(_TEXTS, length), None, *tiny.SPECIAL_IDS, length)
    )
    self._assert_equal(self.results['query'], expected)
    self._assert_equal(self.results['query_served']['default'], expected)
    expected = self.model.embed_queries(self.packed)
    self._assert_equal(self.results['query_packed'], expected)
    self._assert_equal(self.results['query_projected'], expected)

  def test_queries_have_the_learned_temperature(self):
    config = tiny.changed(
      self.model.config, embedder={'normalize': True, 'score_scale': 3.0}
    )
    model = realm_model.RealmModel(config, [realm_model.EMBEDDER])
    model.log_temperature.assign(0.5)
    opened = tiny.changed(self.opened, model=model)
    module = hub_modules.query_embedder(opened)
    embedded = module.encode(self.packed, False)
    self._assert_equal(embedded, model.embed_queries(self.packed))
    lengths = np.full([len(_TEXTS)], 3.0 * np.exp(-0.5))
    self._assert_equal(np.linalg.norm(embedded, axis=-1), lengths)

  def test_blocks_are_embedded_as_by_the_model(self):
    length = self.lengths.block_tokens
    titles = _ids(_TITLES, self.lengths.title_tokens)
    expected = self.model.block_embedder(
      joining.pack(titles, _ids(_TEXTS, length), *tiny.SPECIAL_IDS, length)
    )
    self._assert_equal(self.results['block'], expected)
    self._assert_equal(self.results['block_served']['default'], expected)

  def test_masked_tokens_have_the_logits_of_the_model(self):
    tokens = {name: ids[:, None] for name, ids in self.packed.items()}
    logits = self.model.knowledge_encoder.logits(
      tokens, tf.constant(self.positions)
    )[:, 0]
    states = self.model.knowledge_encoder.encoder(self.packed)
    for name in ('knowledge_packed', 'mlm'):
      result = self.results[name]
      self._assert_equal(result['mlm_logits'], logits)
      self._assert_equal(result['sequence_output'], states['sequence_output'])
    for name in ('sequence_output', 'pooled_output'):
      self._assert_equal(self.results['tokens'][name], states[name])

  def test_masks_are_found_in_strings(self):
    result, mask = self.results['knowledge'], tiny.TOKENIZER.mask_id
    ids = np.array(result['input_word_ids'])
    a, c, dot = (tiny.TOKENIZER.vocabulary.index(word) for word in 'ac.')
    cls_id, sep_id = tiny.SPECIAL_IDS
    self.assertEqual(
      ids[0, :7].tolist(), [cls_id, a, mask, c, mask, dot, sep_id]
    )
    self.assertEqual(ids[1, :3].tolist(), [cls_id, mask, sep_id])
    # Zeros follow the positions of each row.
    self.assertEqual(result['mlm_positions'], [[2, 4], [1, 0], [0, 0]])
    self.assertEqual(
      np.shape(result['mlm_logits']), (3, 2, len(tiny.TOKENIZER.vocabulary))
    )

  def test_keras_layers_train_every_weight(self):
    for name, plain in (('trained', 'query'), ('block_trained', 'block')):
      result = self.results[name]
      self._assert_equal(result['before'], self.results[plain])
      self.assertEqual(result['without_gradient'], 0)
      self.assertGreater(result['num_weights'], 10)
      self.assertEqual(result['losses'], 0)
      # The loss is the mean square.
      self.assertLess(
        np.square(result['after']).mean(), np.square(result['before']).mean()
      )

  def test_has_vocabulary(self):
    vocabulary = list(tiny.TOKENIZER.vocabulary)
    self.assertEqual(self.results['vocabulary'], vocabulary)
    self.assertTrue(self.results['do_lower_case'])


if __name__ == '__main__':
  absltest.main()
