"""Phrases that are read twice, and lines of each package: both only go down.

A change that needs a higher limit says in its message what it brings.
"""

import ast
from collections.abc import Iterator
import functools
import io
import re
import tokenize

from absl.testing import absltest
from absl.testing import parameterized

from tests import source_tree

# Phrase -> (pattern, the most that there may be).
_PHRASES = {
  'a noun left out before "of"': (r'\b(?:those|that|the ones?) of\b', 0),
  'a clause for a noun': (
    r'\bwhat (?:is|are|was|were|has|have|it|they|the|a|an|no|each|every|one'
    r'|makes|comes|remains|stays|follows|takes|gives|only|may)\b'
    r'|\bwhatever\b|\bwhoever\b',
    8,
  ),
  'beside': (r'\bbesides?\b', 1),
  'see X, instead of its content': (r'\b[Ss]ee `', 0),
  'behind, for after': (r'\bbehind\b', 1),
  'as it is': (r'\bas (?:it|they) (?:is|are|was|were|stands?)\b', 2),
  'of which': (r'\bof which\b|\bof whom\b', 1),
  'asked for, told': (r'\basked for\b|\b(?:is|are|be) asked\b|\btold\b', 0),
  'by turns': (r'\bby turns\b', 0),
  'code that wants': (r'(?<!you )\bwants?\b|\bwanted\b', 0),
  'rare words': (r'\b(?:anew|wholly|meanwhile|nobody|shall)\b', 0),
}

# Package -> its lines at most; the files of `tests` and of `docs` together.
_LINES = {
  'benchmarks': 4215,
  'bin': 2926,
  'launch': 3660,
  'realm_tf': 230,
  'realm_tf/answering': 1574,
  'realm_tf/config': 952,
  'realm_tf/corpus': 3328,
  'realm_tf/evaluation': 1962,
  'realm_tf/export': 1264,
  'realm_tf/importing': 2440,
  'realm_tf/index': 3333,
  'realm_tf/live': 1395,
  'realm_tf/modeling': 3150,
  'realm_tf/objectives': 243,
  'realm_tf/pipelines': 433,
  'realm_tf/planning': 1550,
  'realm_tf/records': 3093,
  'realm_tf/refresh': 210,
  'realm_tf/reporting': 977,
  'realm_tf/retrieval': 1107,
  'realm_tf/rundir': 1555,
  'realm_tf/serving': 2236,
  'realm_tf/tagging': 226,
  'realm_tf/text': 1674,
  'realm_tf/training': 4939,
  'realm_tf/wiki': 1440,
  'realm_tf/world': 1791,
  'tests': 39854,
  'docs': 3713,
}
_MEAN_LINE = 37.7  # Characters of a line of code.


def _words_of(name: str) -> Iterator[str]:
  """Yields the strings and comments of a Python file; other files whole."""
  text = (source_tree.ROOT / name).read_text()
  if not name.endswith('.py'):
    yield text
    return
  for token in tokenize.generate_tokens(io.StringIO(text).readline):
    if token.type in (tokenize.COMMENT, tokenize.STRING):
      yield token.string


def _documents() -> list[str]:
  paths = [
    *source_tree.ROOT.glob('*.md'),
    *source_tree.ROOT.glob('docs/**/*.md'),
  ]
  return sorted(path.relative_to(source_tree.ROOT).as_posix() for path in paths)


def _files() -> list[str]:
  folders = ('realm_tf', 'bin', 'launch', 'benchmarks', 'tests')
  names = [*source_tree.python_files(*folders), *_documents()]
  return [name for name in names if name != 'tests/style_test.py']


@functools.cache
def _texts() -> list[tuple[str, str]]:
  """Returns (file, text) of all strings, comments and documents."""
  return [(name, text) for name in _files() for text in _words_of(name)]


def _package(name: str) -> str:
  """Returns 'realm_tf/PACKAGE' for its files, else the top folder."""
  parts = name.split('/')
  if parts[0] == 'realm_tf' and len(parts) > 2:
    return '/'.join(parts[:2])
  return parts[0]


def _code(name: str) -> Iterator[str]:
  """Yields the lines outside of docstrings that are not blank."""
  docstrings = set()
  for node in ast.walk(source_tree.parse(name)):
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
      docstrings.update(range(node.lineno, node.end_lineno + 1))
  for number, line in enumerate(_lines([name]), start=1):
    if line.strip() and number not in docstrings:
      yield line


def _lines(names: list[str]) -> Iterator[str]:
  for name in names:
    yield from (source_tree.ROOT / name).read_text().splitlines()


class StyleTest(parameterized.TestCase):
  @parameterized.parameters(*_PHRASES)
  def test_foreign_phrases_only_get_fewer(self, phrase):
    pattern, limit = _PHRASES[phrase]
    found = [
      f'{name}: {match.group()}'
      for name, text in _texts()
      for match in re.finditer(pattern, text)
    ]
    self.assertLessEqual(len(found), limit, '\n'.join(found))

  def test_packages_only_get_smaller(self):
    names = source_tree.python_files(
      'realm_tf', 'bin', 'launch', 'benchmarks', 'tests'
    )
    packages = {_package(name) for name in names}
    lines = {
      package: len(list(_lines([n for n in names if _package(n) == package])))
      for package in packages
    }
    lines['docs'] = len(list(_lines(_documents())))
    larger = {
      package: (number, _LINES.get(package, 0))
      for package, number in lines.items()
      if number > _LINES.get(package, 0)
    }
    self.assertEmpty(larger, 'Lines, and the limit: remove some, or raise it.')

  def test_code_does_not_get_denser(self):
    lines = [
      line
      for name in source_tree.python_files('realm_tf', 'bin')
      for line in _code(name)
    ]
    self.assertLess(sum(map(len, lines)) / len(lines), _MEAN_LINE)


if __name__ == '__main__':
  absltest.main()
