"""Phrases that are read twice: they only get fewer."""

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


if __name__ == '__main__':
  absltest.main()
