"""Tests that the documents name only files, tests and headings that exist."""

from collections.abc import Iterator
import re

from absl.testing import absltest
from absl.testing import parameterized

from tests import source_tree

# CHANGELOG.md names removed files too, so only its links are checked.
_DOCUMENTS = (
  'README.md',
  'CONTRIBUTING.md',
  *sorted(
    path.relative_to(source_tree.ROOT).as_posix()
    for path in source_tree.ROOT.glob('docs/**/*.md')
  ),
)
# `realm_tf/index/searcher.py`, `launch/test.sh`, `docs/design.md`, `index/`.
_PATH = re.compile(
  r'`((?:realm_tf|bin|launch|tests|benchmarks|docs)/[\w/]*(?:\.(?:py|sh|md))?)`'
)
_TEST = re.compile(r'`(tests/\w[\w/]*\.py)::(test_\w+)`')
_RUN_MODULE = re.compile(r'python -m ((?:bin|benchmarks)\.\w+)')
# [text](path#heading), without links that have a scheme.
_LINK = re.compile(r'\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)')


def _text(document: str) -> str:
  return (source_tree.ROOT / document).read_text()


def _rows(document: str, heading: str) -> Iterator[list[str]]:
  """Yields the cells of each row of the first table under `heading`."""
  section = _text(document).split(f'\n## {heading}\n')[1].split('\n## ')[0]
  rows = [line for line in section.splitlines() if line.startswith('|')]
  for row in rows[2:]:  # Without the header and its rule.
    yield [cell.strip() for cell in row.strip('|').split('|')]


def _anchors(text: str) -> set[str]:
  """Returns the names that GitHub gives to the headings of `text`."""
  headings = re.findall(r'^#+ (.*)$', text, re.MULTILINE)
  shown = (re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', each) for each in headings)
  return {
    re.sub(r'[^\w\- ]', '', each.lower()).replace(' ', '-') for each in shown
  }


class DocumentsTest(parameterized.TestCase):
  @parameterized.parameters(*_DOCUMENTS)
  def test_named_files_exist(self, document):
    text = _text(document)
    modules = (m.replace('.', '/') + '.py' for m in _RUN_MODULE.findall(text))
    missing = sorted(
      path
      for path in {*_PATH.findall(text), *modules}
      if not (source_tree.ROOT / path).exists()
      and 'NAME' not in path  # A placeholder, as in launch/NAME.py.
    )
    self.assertEmpty(missing, f'{document} names files that do not exist.')

  @parameterized.parameters(*_DOCUMENTS)
  def test_named_tests_exist(self, document):
    for path, test in _TEST.findall(_text(document)):
      file = source_tree.ROOT / path
      source = file.read_text() if file.exists() else ''
      self.assertTrue(
        f'def {test}(' in source, f'{document} names {path}::{test}'
      )

  @parameterized.parameters(*_DOCUMENTS, 'CHANGELOG.md')
  def test_links_lead_to_files_and_headings(self, document):
    for path, anchor in _LINK.findall(_text(document)):
      target = (source_tree.ROOT / document).parent / path
      if not path:
        target = source_tree.ROOT / document
      self.assertTrue(target.exists(), f'{document} links to {path}')
      if anchor:
        self.assertIn(anchor, _anchors(target.read_text()), document)

  def test_sources_name_documents_that_exist(self):
    for folder in ('realm_tf', 'bin', 'launch', 'tests', 'benchmarks'):
      for path in (source_tree.ROOT / folder).rglob('*'):
        if path.suffix in ('.py', '.sh'):
          for name in re.findall(r'docs/[\w/]+\.\w+', path.read_text()):
            self.assertTrue(
              (source_tree.ROOT / name).exists(), f'{path}: {name}'
            )

  @parameterized.parameters(
    ('Where is ...?', _PATH),
    ('Differences from the paper and the release', _TEST),
  )
  def test_each_part_of_the_paper_has_its_file_or_test(self, heading, named):
    rows = list(_rows('docs/paper.md', heading))
    self.assertNotEmpty(rows)
    for row in rows:
      self.assertRegex(row[-1], named, f'None for {row[0]!r}')

  def test_import_table_agrees_with_the_tests(self):
    documented = {
      name.strip('`'): imports.replace('-', '').split()
      for name, _, imports in _rows('docs/design.md', 'Packages')
    }
    self.assertEqual(
      documented,
      {name: row.split() for name, row in source_tree.MAY_IMPORT.items()},
    )

  def test_every_binary_is_in_the_contract(self):
    documented = {
      row[0].strip('`') for row in _rows('docs/contract.md', 'Binaries')
    }
    self.assertCountEqual(source_tree.binaries(), documented)


if __name__ == '__main__':
  absltest.main()
