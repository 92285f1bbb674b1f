"""Masked sentences and their candidates, with the masked words marked."""

from collections.abc import Sequence
import re
from typing import Optional

from realm_tf.run import examples as examples_lib

_SHOWN_CHARACTERS = 300
_BEFORE_THE_WORDS = 80  # Shown characters before the masked words.

_Pieces = Sequence[tuple[str, bool]]  # Parts of a text, and whether marked.


def of_example(
  example: examples_lib.Example,
) -> tuple[_Pieces, list[tuple[examples_lib.Candidate, _Pieces]]]:
  """Returns the sentence, and the candidates with a part of their texts."""
  pattern = _pattern(example)
  return example.pieces(), [
    (candidate, _marked(_cut(candidate.text, pattern), pattern))
    for candidate in example.candidates
  ]


def _pattern(example: examples_lib.Example) -> Optional[re.Pattern]:
  """Returns a pattern that finds the masked words in upper or lower case."""
  found = []
  for start, end in example.masked:
    words = example.query[start:end].split()
    # A single letter would match everywhere.
    if len(''.join(words)) > 1 or ''.join(words).isdigit():
      # Joined wordpieces have extra spaces: 'u . s .' for 'U.S.'.
      found.append(r'\s*'.join(re.escape(word) for word in words))
  if not found:
    return None
  return re.compile(rf'(?<!\w)(?:{"|".join(found)})(?!\w)', re.IGNORECASE)


def _cut(text: str, pattern: Optional[re.Pattern]) -> str:
  """Returns a part of `text`, whole words, with the masked words if found."""
  match = pattern.search(text) if pattern else None
  start = 0
  if match and match.end() > _SHOWN_CHARACTERS:
    start = match.start() - _BEFORE_THE_WORDS
    start = text.find(' ', start, match.start()) + 1 or start
  part = text[start : start + _SHOWN_CHARACTERS]
  if start + len(part) < len(text):
    part = f'{part.rpartition(" ")[0] or part} …'
  return f'… {part}' if start else part


def _marked(text: str, pattern: Optional[re.Pattern]) -> _Pieces:
  spans = [match.span() for match in pattern.finditer(text)] if pattern else []
  return examples_lib.cut_at(text, spans)
