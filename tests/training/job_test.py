"""Tests for realm_tf.training.job."""

import os

import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf.config import config_files
from realm_tf.index import model_files
from realm_tf.model import realm_model
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.training import job as job_lib
from tests import model_dirs
from tests import tiny

_READER = {
  name: np.full(2, i, np.float32)
  for i, name in enumerate(('reader_bert/x', 'masked_lm/x', 'span_reader/x'))
}
_PARTS = realm_model.EMBEDDER, realm_model.MASKED_LM, realm_model.SPAN


class JobTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.run_dir = os.path.join(self.directory, 'run')
    self.inputs = job_lib.open_inputs(
      tiny.config(), tiny.write_corpus(self.directory)
    )

  def _model(self, *parts):
    return realm_model.RealmModel(self.inputs.config.model, parts)

  def _publish(self, name, *parts, inputs=None):
    """Makes a model directory; returns its path and its weights."""
    path = os.path.join(self.directory, name)
    # All directories have other weights.
    options = {'step': 3, 'seed': len(os.listdir(self.directory)), 'noise': 1.0}
    model = model_dirs.write(path, inputs or self.inputs, parts, **options)
    return path, weights.values(model.variables)

  def _load(self, model, *init_from):
    return job_lib.load_params(model, self.inputs, job_lib.InitFrom(*init_from))

  def _assert_from(self, model, prefixes, arrays):
    found = {
      name: value
      for name, value in weights.values(model.variables).items()
      if name.startswith(prefixes)
    }
    self.assertNotEmpty(found)
    for name, value in found.items():
      self.assertAllEqual(value, arrays[name], name)

  def test_a_run_starts_from_the_parameters_of_another(self):
    path, arrays = self._publish('all', *_PARTS)
    model = self._model(realm_model.EMBEDDER)
    left_over = self._load(model, path)
    self._assert_from(model, '', arrays)
    self.assertEqual(
      sorted(left_over),
      sorted(n for n in arrays if n.startswith(realm_model.READER_PREFIXES)),
    )

  def test_init_from_must_have_parameters_and_the_same_vocabulary(self):
    model = self._model(realm_model.EMBEDDER)
    path, _ = self._publish('good', realm_model.EMBEDDER)
    reader, _ = self._publish('reader', realm_model.MASKED_LM)
    for directory in (path, reader):
      with open(layout.vocab_file(directory), 'a') as file:
        file.write('g\n')
    for given in (self.directory,), (None, self.directory):
      with self.assertRaisesRegex(errors.UserError, 'model directory'):
        self._load(model, *given)
    for given in (path,), (None, reader):
      with self.assertRaisesRegex(errors.UserError, 'share one vocabulary'):
        self._load(model, *given)

  def test_joins_the_embedders_of_one_model_and_the_reader_of_another(self):
    towers, of_towers = self._publish('towers', *_PARTS)
    reader, of_reader = self._publish('reader', *_PARTS)
    for head in (realm_model.MASKED_LM, realm_model.SPAN):
      model = self._model(realm_model.EMBEDDER, head)
      self._load(model, towers, reader)
      self._assert_from(model, realm_model.EMBEDDER_PREFIXES, of_towers)
      self._assert_from(model, realm_model.READER_PREFIXES, of_reader)

  def test_a_head_of_init_from_is_not_joined_with_another_reader(self):
    towers, of_towers = self._publish('towers', *_PARTS)
    reader, of_reader = self._publish('reader', realm_model.SPAN)
    model = self._model(realm_model.EMBEDDER, realm_model.MASKED_LM)
    before = weights.values(model.variables)
    self._load(model, towers, reader)
    self._assert_from(model, 'reader_', of_reader)
    self._assert_from(model, 'masked_lm/', before)  # The first weights.
    self._assert_from(model, realm_model.EMBEDDER_PREFIXES, of_towers)

  def test_reader_init_from_must_have_a_whole_reader(self):
    model = self._model(realm_model.MASKED_LM)
    towers, _ = self._publish('towers', realm_model.EMBEDDER)
    with self.assertRaisesRegex(
      errors.UserError, f'--reader_init_from must .*Found none in {towers}'
    ):
      self._load(model, None, towers)
    two_layers = tiny.changed(
      self.inputs.config.model, reader_bert={'num_layers': 2}
    )
    one_layer, _ = self._publish('one_layer', realm_model.MASKED_LM)
    model = realm_model.RealmModel(two_layers, [realm_model.MASKED_LM])
    with self.assertRaisesRegex(
      errors.UserError, f'{one_layer} lacks reader_bert/transformer/layer_1'
    ):
      self._load(model, None, one_layer)

  def test_another_embedder_than_the_start_has_is_told(self):
    self._change(shared_towers=True)
    path, _ = self._publish('start', *_PARTS)
    self._change(shared_towers=False)  # As fine-tuning: one fills both.
    with self.assertNoLogs(level='WARNING'):
      self._load(self._model(realm_model.MASKED_LM), path)
      self._load(self._model(realm_model.EMBEDDER), path)
    self._change(head='mean', dropout_rate=0.5)
    with self.assertLogs(level='WARNING') as logs:
      self._load(self._model(realm_model.EMBEDDER), path)
    self.assertIn(": model.embedder.head is 'mean', was 'cls'.", logs.output[0])

  def _change(self, **embedder):
    config = tiny.changed(self.inputs.config, model={'embedder': embedder})
    self.inputs = self.inputs._replace(config=config)

  def _begin(self, config=None, resume=False, data=()):
    job = job_lib.Job(self.run_dir, resume=resume)
    config = config or self.inputs.config
    job.begin(config, self.inputs.vocab_file, dict(data))

  def test_inputs_fit_the_config_to_the_vocabulary(self):
    model = self.inputs.config.model
    self.assertEqual(model.embedder_bert.vocab_size, 12)
    self.assertEqual(model.reader_bert.vocab_size, 12)
    # [PAD], [UNK], [CLS], [SEP] and [MASK] are 0 to 4.
    self.assertAllEqual(self.inputs.ordinary_ids, range(5, 12))
    self.assertEqual(self.inputs.table.num_blocks, 4)

  def test_a_run_directory_is_new_unless_resumed(self):
    self._begin()
    self.assertEqual(config_files.read(self.run_dir), self.inputs.config)
    job_lib.publish(self.run_dir, 0, tf.Module())
    done = layout.done_file(self.run_dir)
    with open(done, 'w') as file:
      file.write('')
    with self.assertRaisesRegex(errors.UserError, 'must be new'):
      self._begin()
    self.assertTrue(os.path.exists(done))
    self._begin(resume=True)
    # With the marker, the refresher would end during the resumed run.
    self.assertFalse(os.path.exists(done))

  def test_a_resumed_run_must_be_the_same_but_for_its_length(self):
    self._begin(data={'questions': ['a'], 'corpus': 'b'})
    old = self.inputs.config
    with self.assertRaisesRegex(
      errors.UserError,
      'Found other questions; seed is 7, was 0[.] .*May change: num_steps',
    ):
      other = tiny.changed(old, seed=7)
      self._begin(other, resume=True, data={'questions': ['c'], 'corpus': 'b'})
    self.assertEqual(config_files.read(self.run_dir), old)
    longer = tiny.changed(old, finetuning={'optimizer': {'num_steps': 99}})
    with self.assertLogs(level='WARNING') as logs:
      self._begin(longer, resume=True, data={'questions': ['a']})
    self.assertIn('num_steps is 99', logs.output[0])
    self.assertEqual(config_files.read(self.run_dir), longer)


class PublishTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.run_dir = self.create_tempdir().full_path

  def test_publishes_all_weights_as_a_version_that_never_changes(self):
    model = tf.Module()
    model.kernel = tf.Variable([1.0, 2.0], name='tower/kernel')
    model.frozen = tf.Variable([3.0], name='tower/frozen', trainable=False)
    fingerprint = weights.fingerprint(weights.values(model.variables))
    version = job_lib.publish(self.run_dir, 500, model)
    model.kernel.assign([2.0, 2.0])
    self.assertEqual(job_lib.publish(self.run_dir, 500, model), version)
    arrays = model_files.read_params(version)
    self.assertAllEqual(arrays['tower/kernel'], [1.0, 2.0])
    self.assertAllEqual(arrays['tower/frozen'], [3.0])
    self.assertEqual(
      versions.verify(version.path)['params_fingerprint'], fingerprint
    )

  def _kept(self, **changes):
    """Returns the reader that a run with a changed model publishes."""
    run_dir, init_from = (self.create_tempdir().full_path for _ in range(2))
    config_files.write(tiny.config(), init_from)
    model = tiny.changed(tiny.config().model, **changes)
    job_lib.keep_untrained(run_dir, init_from, _READER, model=model)
    return model_files.read_params(job_lib.publish(run_dir, 0, tf.Module()))

  def test_keeps_the_reader_with_its_heads_where_shapes_agree(self):
    of_bert = {'dropout_rate': 0.5, 'activation': 'relu'}
    for changes, left_out in (
      ({}, []),
      ({'reader_bert': of_bert}, []),
      ({'span_hidden_size': 5}, ['span_reader/x']),
    ):
      kept = self._kept(**changes)
      self.assertCountEqual(kept, {*_READER} - {*left_out})
      self.assertAllEqual(kept['masked_lm/x'], [1, 1])

  def test_a_reader_of_other_sizes_is_left_out_with_a_warning(self):
    with self.assertLogs(level='WARNING') as logs:
      self.assertEmpty(self._kept(reader_bert={'num_layers': 2}))
    self.assertIn('sizes differ', logs.output[0])


if __name__ == '__main__':
  tf.test.main()
