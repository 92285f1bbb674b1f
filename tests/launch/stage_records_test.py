"""Tests that a key has all fields of the config that its binary reads."""

import dataclasses
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
  'realm_tf/answering/',
  'realm_tf/records/masking.py',  # Masks for pre-training.
  # It replaces the fields that labels read.
  'realm_tf/training/inverse_cloze/inverse_cloze_run.py',
)


def _code(name):
  text = (source_tree.ROOT / name).read_text()
  return re.sub(r'^(?:from|import) .*$', '', text, flags=re.MULTILINE)


def _imported(name):
  """Returns the file `name` and all that it imports, directly or not."""
  found, left = set(), [name]
  while left:
    name = left.pop()
    if name not in found:
      found.add(name)
      paths = [
        f'{module.replace(".", "/")}.py'
        for _, module in source_tree.imports(name)
        if not module.startswith('realm_tf.config.')
      ]
      left += [path for path in paths if (source_tree.ROOT / path).exists()]
  return found


def _made_from(text, run_dir):
  recipe = runner.Recipe(run_dir)
  recipe.stage('a', 'make_blocks', input=runner.Input(text))
  return stage_records.made_from(recipe.stages['a'], run_dir, {})['--input']


class StageRecordsTest(parameterized.TestCase):
  def test_inputs_are_what_the_binaries_read(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
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
    for text in 'world', 'tfds:wikipedia', 'gs://bucket/articles':
      self.assertEqual(key(text), f'content {text}')
    for name in 'empty', 'none':
      with self.assertRaisesRegex(errors.UserError, f'no file .*{name}'):
        key(f'{folder}/{name}')

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
    code = ''.join(
      _code(name) for name in source_tree.python_files('realm_tf/answering')
    )
    for field in dataclasses.fields(config_lib.FinetuningConfig):
      if re.search(rf'\.{field.name}\b', code):
        for binary in stage_records.TRAINERS:
          known = stage_records.FIELDS_READ[binary]
          self.assertTrue(
            {'finetuning', f'finetuning.{field.name}'} & {*known},
            f'realm_tf/answering reads finetuning.{field.name}.',
          )


if __name__ == '__main__':
  absltest.main()
