"""Tests for launch.stage_records: keys, and stages that go on."""

import dataclasses
import functools
import json
import os
import pathlib
import re

from absl.testing import absltest
from absl.testing import parameterized

from launch import runner
from launch import stage_records
from realm_tf import config as config_lib
from realm_tf import errors
from tests import source_tree

_SECTIONS = 'inverse_cloze pretraining finetuning tagger closed_book held_out'
_READ = re.compile(rf'\.({"|".join(_SECTIONS.split())})\b(?:\.(\w+))?')
# Files that read a section for other binaries, or only fields of _OF_MODELS.
_EXCEPT = (
  'realm_tf/qa/',
  'realm_tf/data/masking.py',  # Masks for pre-training.
  # It replaces the fields that labels read.
  'realm_tf/training/inverse_cloze_run.py',
)


@functools.cache
def _code(name):
  text = (source_tree.ROOT / name).read_text()
  return re.sub(r'^(?:from|import) .*$', '', text, flags=re.MULTILINE)


def _imported(name):
  """Returns the file `name` and all that it imports, directly or not."""
  found, left = set(), [name]
  while left:
    name = left.pop()
    if name not in found and not name.startswith('realm_tf/config/'):
      found.add(name)
      left += source_tree.imported_files(name)
  return found


def _made_from(text, run_dir):
  recipe = runner.Recipe(run_dir)
  recipe.stage('a', 'make_blocks', input=runner.Input(text))
  return stage_records.made_from(recipe.stages['a'], run_dir, {}, {})['--input']


def _only_value(path):
  (value,) = json.loads(pathlib.Path(path).read_text()).values()
  return value


class StageRecordsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def test_inputs_are_what_the_binaries_read(self):
    folder = self.folder
    for name in 'xy':
      (folder / name).mkdir()
      (folder / name / 'corpus').write_text(name)
    (folder / 'empty').mkdir()

    def key(text):
      return _made_from(text, str(folder / 'run'))

    self.assertEqual(key(f'beir:{folder}/x@dev'), key(f'{folder}/x'))
    self.assertNotEqual(key(f'{folder}/x'), key(f'{folder}/y'))
    both = key(f'{folder}/x/corpus,{folder}/y/corpus')
    self.assertEqual(both, key(f'{folder}/?/corpus'))
    for text in 'tfds:wikipedia', 'gs://bucket/articles':
      self.assertEqual(key(text), f'content {text}')
    for name in 'empty', 'none':
      with self.assertRaisesRegex(errors.UserError, f'no file .*{name}'):
        key(f'{folder}/{name}')

  def test_a_run_directory_remembers_the_contents_of_inputs(self):
    source = self.folder / 'source'
    source.write_text('x')
    (self.folder / '.stages').mkdir()
    recipe = runner.Recipe(str(self.folder))
    recipe.stage('a', 'make_blocks', input=runner.Input(str(source)))
    made = stage_records.plans(recipe)['a'].made_from
    # The same state of a file gives the remembered hash.
    path = self.folder / '.stages' / 'inputs'
    self.assertEqual(f'content {_only_value(path)}', made['--input'])
    path.write_text(path.read_text().replace(_only_value(path), 'known'))
    made = stage_records.plans(recipe)['a'].made_from
    self.assertEqual(made['--input'], 'content known')
    # As tar and rsync -t leave a changed file: its old time and size.
    old = source.stat()
    source.write_text('y')
    os.utime(source, ns=(old.st_atime_ns, old.st_mtime_ns))
    made = stage_records.plans(recipe)['a'].made_from
    self.assertNotEqual(made['--input'], 'content known')

  @parameterized.parameters(
    # Binary, a path of its output, whether it ended and has other settings,
    # whether it goes on.
    ('finetune', 'checkpoints/one', False, False, True),
    ('finetune', 'checkpoints/one', False, True, False),
    ('finetune', 'checkpoints', False, False, False),  # It has none yet.
    ('build_index', 'shard', False, False, True),
    ('build_index', 'shard', True, False, False),
    ('evaluate', 'checkpoints/one', False, False, False),
  )
  def test_an_unfinished_stage_goes_on(
    self, binary, path, is_done, is_other, goes_on
  ):
    run_dir = str(self.folder)
    (self.folder / '.stages').mkdir()
    recipe = runner.Recipe(run_dir)
    recipe.stage('a', binary, run_dir=runner.OUTPUT)
    plan = stage_records.Plan('x', {}, 'new')
    self.assertFalse(stage_records.begin(run_dir, recipe.stages['a'], plan))
    (self.folder / 'a' / path).mkdir(parents=True)
    if is_done:
      stage_records.finish(run_dir, 'a', plan, 1.0)
    plan = plan._replace(key='y' if is_other else 'x')
    found = stage_records.begin(run_dir, recipe.stages['a'], plan)
    self.assertEqual(found, goes_on)
    self.assertEqual((self.folder / 'a').exists(), goes_on)

  def test_an_index_goes_on_where_an_unfinished_training_wrote(self):
    (self.folder / '.stages').mkdir()
    recipe = runner.Recipe(str(self.folder))
    model = recipe.stage('a', 'finetune', run_dir=runner.OUTPUT)
    recipe.stage('b', 'build_index', x=runner.OUTPUT, at=model / 'index')
    plan = stage_records.Plan('x', {}, 'new')
    stage_records.begin(recipe.run_dir, recipe.stages['a'], plan)
    (self.folder / 'a' / 'index').mkdir(parents=True)
    self.assertEqual(stage_records.plans(recipe)['b'].reason, 'new')

  @parameterized.parameters(*stage_records.TRAINERS)
  def test_a_trainers_key_has_the_sections_that_its_code_reads(self, binary):
    known = stage_records.FIELDS_READ[binary]
    for name in _imported(f'bin/{binary}.py'):
      if name.startswith(_EXCEPT) and binary != 'pretrain':
        continue
      for section, field in _READ.findall(_code(name)):
        self.assertTrue(
          section in known or f'{section}.{field}' in known,
          f'{name} reads {section}.{field}: add it for {binary}.',
        )

  def test_every_trainers_key_has_the_fields_that_answering_reads(self):
    names = source_tree.python_files('realm_tf/qa')
    code = ''.join(code for code in map(_code, names) if 'finetuning' in code)
    for field in dataclasses.fields(config_lib.FinetuningConfig):
      if re.search(rf'\.{field.name}\b', code):
        for binary in stage_records.TRAINERS:
          known = stage_records.FIELDS_READ[binary]
          self.assertTrue(
            {'finetuning', f'finetuning.{field.name}'} & {*known},
            f'realm_tf/qa reads finetuning.{field.name}.',
          )


if __name__ == '__main__':
  absltest.main()
