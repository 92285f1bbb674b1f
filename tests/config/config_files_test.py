"""Tests for realm_tf.config.config_files and fields."""

import dataclasses
import json
import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.config import config_files
from realm_tf.config import fields

_LAUNCH = """
from realm_tf import config
CONFIG = config.ExperimentConfig(
    seed=3, pretraining=config.PretrainingConfig(batch_size=16))
"""


class ConfigIoTest(parameterized.TestCase):
  def _write(self, name: str, text: str) -> str:
    return self.create_tempfile(name, content=text).full_path

  def test_differences_name_the_fields(self):
    old = config_lib.ExperimentConfig()
    new = config_files.override(old, ['seed=2', 'pretraining.batch_size=16'])
    self.assertEqual(
      config_files.differences(old, new),
      ['seed is 2, was 0', 'pretraining.batch_size is 16, was 512'],
    )
    self.assertEqual(config_files.differences(new, new), [])

  def test_searched_ks_has_the_k_of_every_job(self):
    config = config_files.override(
      config_lib.ExperimentConfig(),
      ['pretraining.num_candidates=8', 'finetuning.num_searched=60'],
    )
    self.assertEqual(config.searched_ks(10**6), [8, 10, 60, 100])
    self.assertEqual(config.searched_ks(50), [8, 10, 50])  # At most N.

  def test_every_default_has_the_type_of_its_field(self):
    # Overrides and config.json are parsed by the default's type.
    sections = [config_lib.ExperimentConfig()]
    while sections:
      section = sections.pop()
      for field in dataclasses.fields(section):
        value = getattr(section, field.name)
        self.assertIs(type(value), field.type, field.name)
        if dataclasses.is_dataclass(value):
          sections.append(value)

  def test_a_missing_field_has_the_default_of_its_section(self):
    tree = {'inverse_cloze': {'optimizer': {'num_steps': 7}}}
    config = config_files.merge(config_lib.ExperimentConfig(), tree)
    optimizer = config.inverse_cloze.optimizer
    self.assertEqual(optimizer.learning_rate, 1e-4)  # 3e-5 in other sections.

  def test_loads_a_launch_file_that_imports_another_of_its_folder(self):
    path = self._write('recipe.py', 'from . import sizes\n' + _LAUNCH)
    self._write('sizes.py', '')
    config = config_files.load(path)
    self.assertEqual(config.seed, 3)
    self.assertEqual(config.pretraining.batch_size, 16)
    self.assertEqual(config.pretraining.num_candidates, 8)  # The default.

  def test_loads_the_json_of_a_config(self):
    path = self._write('given.json', '{"pretraining": {"batch_size": 16}}')
    config = config_files.load(path, ['seed=7'])
    self.assertEqual((config.pretraining.batch_size, config.seed), (16, 7))
    self._write('given.json', '{"pretraining": {"batch": 16}}')
    with self.assertRaisesRegex(errors.UserError, 'given.json: .*ing.batch`'):
      config_files.load(path)

  @parameterized.parameters(
    ('pretraining.batch_size=1024', 1024),
    (' seed = 7', 7),
    ('finetuning.optimizer.learning_rate=5e-4', 5e-4),
    ('model.embedder.score_scale=2', 2.0),
    ('model.embedder.normalize=True', True),
    ('model.embedder.normalize=0', False),
    ('index.searcher=scann', 'scann'),
  )
  def test_override_parses_by_the_type_of_the_field(self, text, expected):
    value = config_files.load(self._write('tiny.py', _LAUNCH), [text])
    for name in text.partition('=')[0].strip().split('.'):
      value = getattr(value, name)
    self.assertEqual(value, expected)
    self.assertIs(type(value), type(expected))

  def test_overrides_are_checked_together(self):
    # 8 of 4 searched blocks are too many to read; 8 of 10 are not.
    small = config_lib.FinetuningConfig(num_read=2, num_searched=4)
    start = config_lib.ExperimentConfig(finetuning=small)
    pair = ['finetuning.num_read=8', 'finetuning.num_searched=10']
    for overrides in (pair, pair[::-1]):
      config = config_files.override(start, overrides)
      self.assertEqual(config.finetuning.num_read, 8)

  @parameterized.parameters(
    (
      'pretraining.batch_sise=1',
      'Unknown config key `pretraining.batch_sise`. The nearest is '
      '`pretraining.batch_size`.',
    ),
    ('num_candidates=1', 'The nearest is `pretraining.num_candidates`.'),
    ('finetune.batch_size=1', 'The nearest is `finetuning.batch_size`.'),
    ('model.embedder=1', '`model.embedder` is a section.'),
    ('seed.x=1', 'The nearest is `seed`.'),
    ('seed', "must read 'a.b=value'. Found 'seed'."),
    ('seed=1.5', "`seed` must be of type int. Found '1.5'."),
    ('model.embedder.normalize=maybe', "must be of type bool. Found 'maybe'."),
    ('model.embedder.score_scale=nan', '`score_scale` must be finite.'),
    ('pretraining.over_retrieval=0', 'it is no option any more'),
    (
      'pretraining.num_candidates=0',
      'In `pretraining`: `num_candidates` must be positive.',
    ),
    ('model.reader_bert.num_heads=0', 'In `model.reader_bert`: '),
  )
  def test_override_names_the_mistake(self, text, message):
    with self.assertRaises(errors.UserError) as raised:
      config_files.override(config_lib.ExperimentConfig(), [text])
    self.assertIn(message, str(raised.exception))

  @parameterized.parameters(
    ('X = 1', 'must define CONFIG'),
    ('CONFIG = 1', 'Found int.'),
    ('CONFIG = (', 'SyntaxError'),
    ('from . import no_such', 'no_such'),
    (
      'from realm_tf import config\n'
      'CONFIG = config.PretrainingConfig(num_candidates=0)',
      '`num_candidates` must be positive.',
    ),
  )
  def test_load_names_the_mistake(self, source, message):
    path = self._write('broken.py', source)
    with self.assertRaises(errors.UserError) as raised:
      config_files.load(path)
    self.assertIn(message, str(raised.exception))
    self.assertIn(path, str(raised.exception))

  def test_json_round_trip_is_exact(self):
    config = config_files.override(
      config_lib.ExperimentConfig(), ['seed=5', 'index.recall_target=0.3']
    )
    directory = os.path.join(self.create_tempdir().full_path, 'run')
    config_files.write(config, directory)
    self.assertEqual(config_files.read(directory), config)

  @parameterized.parameters(
    b'{"seed": ' + b'7' * 6000 + b'}',
    b'{"seed": NaN}',
    b'{"init_from": "runs/ict"}',  # A field of an older release.
  )
  def test_a_damaged_file_is_a_user_error(self, data):
    path = pathlib.Path(self.create_tempdir().full_path, 'config.json')
    path.write_bytes(data)
    with self.assertRaisesRegex(errors.UserError, 'config.json'):
      config_files.read(str(path.parent))
    path.unlink()
    os.mkfifo(path)
    with self.assertRaisesRegex(errors.UserError, 'a FIFO'):
      config_files.read(str(path.parent))

  @parameterized.parameters(
    (
      {'pretraining': {'batch_size': '1'}},
      "`pretraining.batch_size` must be of type int. Found '1'.",
    ),
    ({'seed': True}, '`seed` must be of type int. Found True.'),
    ({'seed': None}, '`seed` must be of type int. Found None.'),
    ({'seed': 1.0}, '`seed` must be of type int. Found 1.0.'),
    ({'model': 1}, '`model` is a section. Set one of its fields: '),
    ({'seed': {}}, '`seed` must be of type int. Found {}.'),
    ({'index': {'searcher': 'hnsw'}}, 'In `index`: `searcher`'),
    ({'held_out': {'share': 10**400}}, 'In `held_out.share`: '),
    ([], '`the config` must be an object.'),
    (
      {'pretraining': {'over_retrieval': 32}},
      '`pretraining.over_retrieval` must be 0: it is no option any more. Found '
      '32.',
    ),
  )
  def test_read_names_file_and_field(self, tree, message):
    path = self._write('config.json', json.dumps(tree))
    with self.assertRaises(errors.UserError) as raised:
      config_files.read(os.path.dirname(path))
    self.assertIn(message, str(raised.exception))
    self.assertIn(path, str(raised.exception))

  def test_a_field_that_became_a_constant_may_have_its_value(self):
    tree = dataclasses.asdict(config_lib.ExperimentConfig())
    tree['pretraining']['over_retrieval'] = 0
    tree['tagger']['optimizer']['weight_decay_rate'] = 0.01
    path = self._write('config.json', json.dumps(tree))
    self.assertEqual(
      config_files.read(os.path.dirname(path)), config_lib.ExperimentConfig()
    )

  def test_a_model_of_another_release_is_refused(self):
    tree = dataclasses.asdict(config_lib.ExperimentConfig())
    del tree['finetuning'], tree['model']['embedder']['layer_norm_epsilon']
    path = self._write('config.json', json.dumps(tree))
    with self.assertRaisesRegex(
      errors.UserError, '`model.embedder.layer_norm_epsilon`.*Make .* again'
    ):
      config_files.read(os.path.dirname(path))

  def test_read_names_the_line_that_is_not_json(self):
    path = self._write('config.json', '{\n"seed": }')
    with self.assertRaisesRegex(errors.UserError, 'config.json.*line 2'):
      config_files.read(os.path.dirname(path))
    os.remove(path)
    with self.assertRaisesRegex(errors.UserError, 'config.json.*no such file'):
      config_files.read(os.path.dirname(path))


@dataclasses.dataclass(frozen=True)
class _Config(fields.Config):
  num_read: int = fields.positive(5)
  num_searched: int = fields.not_negative(8)
  dropout_rate: float = fields.rate(0.5)
  held_out: float = fields.below_one(0.0)
  max_tokens: int = fields.above(2, 64)
  searcher: str = fields.one_of('exact', 'scann')

  def check_together(self):
    fields.check(self.num_read <= 10, 'Too many.', num_read=self.num_read)


class FieldsTest(parameterized.TestCase):
  def test_defaults_and_inclusive_limits_are_accepted(self):
    self.assertEqual(_Config(), _Config(5, 8, 0.5, 0.0, 64, 'exact'))
    _Config(1, 0, 1.0, 0.0, 3, 'scann')
    _Config(10, 0, 0.0)

  @parameterized.parameters(
    ('num_read', 0, '`num_read` must be positive. Found num_read=0.'),
    ('num_searched', -1, '`num_searched` must not be negative.'),
    ('dropout_rate', 1.1, r'must be in \[0, 1\]. Found dropout_rate=1.1.'),
    ('dropout_rate', -0.1, r'must be in \[0, 1\].'),
    ('held_out', 1.0, r'must be in \[0, 1\)\.'),
    ('max_tokens', 2, '`max_tokens` must be above 2.'),
    ('searcher', 'x', "must be one of exact, scann. Found searcher='x'."),
    ('num_read', 11, r'^Too many. Found num_read=11.$'),
  )
  def test_a_value_out_of_bounds_is_refused(self, name, value, message):
    with self.assertRaisesRegex(ValueError, message):
      _Config(**{name: value})


if __name__ == '__main__':
  absltest.main()
