"""Tests for realm_tf.model.realm_model."""

import dataclasses
import os

from absl.testing import parameterized
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.model import realm_model
from realm_tf.model import weights
from tests import tiny

_BERT = tiny.bert(
  vocab_size=20, intermediate_size=16, max_positions=12, initializer_range=0.5
)
_ALL = (realm_model.EMBEDDER, realm_model.MASKED_LM, realm_model.SPAN)


def _config(**embedder):
  return config_lib.ModelConfig(
    embedder_bert=_BERT,
    reader_bert=_BERT,
    embedder=config_lib.EmbedderConfig(embedding_size=4, **embedder),
    span_hidden_size=4,
    max_span_width=3,
  )


def _arrays(model):
  return weights.values(model.variables)


def _towers(**embedder):
  return realm_model.RealmModel(_config(**embedder), [realm_model.EMBEDDER])


class RealmModelTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    tf.random.set_seed(0)
    self.tokens = tiny.tokens([[1, 7, 2], [1, 8, 2]])

  @parameterized.parameters('cls', 'pooled', 'mean')
  def test_file_of_all_parts_fits_every_job(self, head):
    config = _config(head=head)
    path = os.path.join(self.create_tempdir().full_path, 'x.safetensors')
    everything = realm_model.RealmModel(config, _ALL)
    weights.write(weights.values(everything.variables), path)
    used = set()
    for part in _ALL:
      job = realm_model.RealmModel(config, [part])
      report = job.load(weights.read(path))
      realm_model.require_parts(report, path)
      used |= set(report.used)
    self.assertEqual(used, set(_arrays(everything)))

  @parameterized.parameters(
    ((realm_model.EMBEDDER,), True),
    ((realm_model.SPAN,), False),
    (_ALL, False),  # All or none.
  )
  def test_a_wide_part_has_islands_in_place_of_xla(self, parts, xla):
    wide = dataclasses.replace(_BERT, hidden_size=256)
    config = dataclasses.replace(_config(), reader_bert=wide)
    model = realm_model.RealmModel(config, parts)
    self.assertEqual(model.prefers_xla, xla)

  def test_towers_are_two_unless_shared(self):
    separate = _towers()
    self.assertNotAllClose(
      separate.query_embedder(self.tokens), separate.block_embedder(self.tokens)
    )
    shared = _towers(shared_towers=True)
    self.assertIs(shared.query_embedder, shared.block_embedder)
    self.assertLen(shared.variables, len(separate.variables) // 2)

  @parameterized.parameters(True, False)
  def test_names_distinguish_embedders_and_readers(self, shared):
    model = realm_model.RealmModel(_config(shared_towers=shared), _ALL)
    for part, expected in (
      (model.query_embedder, True),
      (model.block_embedder, True),
      (model.knowledge_encoder, False),
      (model.span_reader, False),
    ):
      for variable in part.trainable_variables:
        is_embedder = variable.name.startswith(realm_model.EMBEDDER_PREFIXES)
        self.assertEqual(is_embedder, expected, msg=variable.name)

  def test_file_with_a_shared_tower_fills_two(self):
    shared = _towers(shared_towers=True)
    config = realm_model.separate_towers(shared.config)
    self.assertFalse(config.embedder.shared_towers)
    separate = realm_model.RealmModel(config, [realm_model.EMBEDDER])
    report = separate.load(_arrays(shared))
    realm_model.require_parts(report, 'x')
    self.assertEmpty(report.left_over)
    for tower in (separate.query_embedder, separate.block_embedder):
      self.assertAllClose(
        tower(self.tokens), shared.query_embedder(self.tokens)
      )

  def test_reader_starts_from_the_tower_of_a_file_without_reader(self):
    tower = _towers(shared_towers=True)
    model = realm_model.RealmModel(tower.config, [realm_model.SPAN])
    report = model.load(_arrays(tower))
    self.assertAllClose(
      model.span_reader.encoder(self.tokens)['pooled_output'],
      tower.query_embedder.encoder(self.tokens)['pooled_output'],
    )
    # The report names the weights that no tower has.
    self.assertTrue(report.missing)
    self.assertTrue(
      all(name.startswith('span_reader/') for name in report.missing)
    )

  def test_reader_of_another_size_starts_at_random(self):
    tower = _towers()
    config = tiny.changed(
      _config(), reader_bert={'hidden_size': 12, 'intermediate_size': 20}
    )
    model = realm_model.RealmModel(config, _ALL)
    report = model.load(_arrays(tower))
    self.assertContainsSubset(_arrays(tower), report.used)
    self.assertAllClose(
      model.block_embedder(self.tokens), tower.block_embedder(self.tokens)
    )

  @parameterized.named_parameters(
    # The other tower must not replace a missing one.
    ('block_is_missing', 'block_', False),
    ('query_is_missing', 'query_', False),
    # A shared tower cannot take two towers.
    ('two_into_one', '', True),
  )
  def test_towers_do_not_replace_each_other(self, removed, shared):
    arrays = {
      name: value
      for name, value in _arrays(_towers()).items()
      if not removed or not name.startswith(removed)
    }
    report = _towers(shared_towers=shared).load(arrays)
    with self.assertRaises(errors.UserError):
      realm_model.require_parts(report, 'x')

  def test_reader_of_a_file_is_not_completed_by_its_tower(self):
    arrays = _arrays(realm_model.RealmModel(_config(), _ALL))
    name = next(n for n in arrays if n.startswith('reader_bert/'))
    del arrays[name]
    model = realm_model.RealmModel(_config(), [realm_model.SPAN])
    self.assertEqual(model.load(arrays).missing, [name])

  def test_reader_is_one_bert_for_both_heads(self):
    model = realm_model.RealmModel(
      _config(), [realm_model.MASKED_LM, realm_model.SPAN]
    )
    self.assertIs(model.span_reader.encoder, model.knowledge_encoder.encoder)

  def test_normalized_embeddings_have_a_temperature_and_a_null_bias(self):
    scalars = {realm_model.LOG_TEMPERATURE, realm_model.NULL_BIAS}
    plain = realm_model.RealmModel(_config(), _ALL)
    self.assertEmpty(scalars & _arrays(plain).keys())
    scores = tf.constant([[1.0, 2.0, 3.0]])
    self.assertIs(plain.with_null_bias(scores), scores)
    self.assertEqual(plain.score_scale, 1.0)
    # Only retrievers have these scalars.
    config = _config(normalize=True, score_scale=20.0)
    reader = realm_model.RealmModel(config, _ALL[1:])
    self.assertEmpty(scalars & _arrays(reader).keys())
    model = realm_model.RealmModel(config, _ALL)
    self.assertContainsSubset(scalars, _arrays(model))
    fresh = 20.0 * model.query_embedder(self.tokens)
    self.assertAllEqual(model.embed_queries(self.tokens), fresh)
    blocks = model.embed_blocks(self.tokens)
    self.assertAllEqual(blocks, model.block_embedder(self.tokens))
    self.assertAllEqual(model.with_null_bias(scores), scores)
    model.log_temperature.assign(tf.math.log(2.0))
    model.null_bias.assign(4.0)
    self.assertAllClose(model.embed_queries(self.tokens), fresh / 2)
    self.assertAllClose(model.with_null_bias(scores), [[5.0, 2.0, 3.0]])

  def test_missing_parts_are_a_user_error(self):
    model = realm_model.RealmModel(_config(), [realm_model.MASKED_LM])
    arrays = _arrays(model)
    del arrays[next(name for name in arrays if name.startswith('masked_lm'))]
    report = model.load(arrays)
    with self.assertRaisesRegex(
      errors.UserError, f'dir/x lacks masked_lm.*of {len(arrays) + 1} variables'
    ):
      realm_model.require_parts(report, 'dir/x')

  def test_weights_of_more_layers_are_a_user_error(self):
    config = tiny.changed(_config(), embedder_bert={'num_layers': 2})
    larger = realm_model.RealmModel(config, [realm_model.EMBEDDER])
    report = _towers().load(_arrays(larger))
    with self.assertRaisesRegex(errors.UserError, 'also has .*layer_1'):
      realm_model.require_parts(report, 'x')

  def test_with_vocab_size_changes_only_the_vocabularies(self):
    config = realm_model.with_vocab_size(_config(), 99)
    self.assertEqual(config.embedder_bert.vocab_size, 99)
    self.assertEqual(config.reader_bert.vocab_size, 99)
    self.assertEqual(config.seq2seq.vocab_size, 99)
    self.assertEqual(
      realm_model.with_vocab_size(config, 20),
      tiny.changed(_config(), seq2seq={'vocab_size': 20}),
    )


if __name__ == '__main__':
  tf.test.main()
