"""Removes sentences that lack a word, because its markup could not be read.

LOST stands for a dropped word, such as a formula; HOLE for markup that may have
been one. After a word or between sentences HOLE was a note or an icon, and the
sentence is whole. In 'It lies HOLE above the sea.' it was a value.
"""

import re
from typing import cast

from realm_tf.text import sentences

# Private characters of Unicode.
HOLE = '\ue000'
LOST = '\ue003'
_DEMANDING = frozenset(
  """
  a about above after almost an and any approximately are around as at
  average be because been before being below between but by called circa
  costs despite du during each either every exactly for from had has have
  in into is it's its least like more most named nearly no of on only or
  our over per roughly since some than that the their these this those
  through to toward towards under until upon was were with within without
  """.split()
)
_HOLE = re.compile(rf'[{HOLE}{LOST}][{HOLE}{LOST} ]*')
_LAST_WORD = re.compile(r"[\w'’]*$")
_BRACKETS = re.compile(r'\s*[(\[]([^()\[\]]*)[)\]]')
_LONGEST_WORD = 20  # Characters to inspect before a hole.
_SIGNS = frozenset('$£€¥₹+-−–—/×=~≈<>±‘“«#^*')
_DASHES = ('–', '—', '-')


def cut(text: str) -> str:
  """Returns `text` without holes and without sentences that lack a word."""
  if not _HOLE.search(text):
    return text
  return '\n'.join(map(_cut_line, text.split('\n')))


def _cut_line(line: str) -> str:
  if _HOLE.search(line):
    line = _BRACKETS.sub(_cut_brackets, line)
  if not _HOLE.search(line):
    return line
  # A hole is a word to the splitter: 'old. <hole> It' is two sentences.
  found = [line[i:j] for i, j in sentences.split_sentences(line)]
  kept = (
    _HOLE.sub(_keep_space, sentence).strip()
    for sentence in found
    if not _is_broken(sentence)
  )
  return ' '.join(sentence for sentence in kept if sentence)


def _keep_space(match: re.Match) -> str:
  return ' ' if ' ' in match.group() else ''


def _cut_brackets(match: re.Match) -> str:
  if not _HOLE.search(match.group(1)):
    return match.group()
  if _is_broken(match.group(1), in_brackets=True):
    return ''
  return _HOLE.sub(_keep_space, match.group())


def _is_broken(text: str, in_brackets: bool = False) -> bool:
  """Returns whether a sentence, or the text in brackets, lacks a word."""
  for match in _HOLE.finditer(text):
    left = text[max(0, match.start() - _LONGEST_WORD) : match.start()]
    is_item = in_brackets and left.rstrip()[-1:] in ('', ',', ';', ':')
    if LOST in match.group() and not is_item:
      return True
    if _is_missed(left, match.group(), text[match.end() : match.end() + 1]):
      return True
  return False


def _is_missed(left: str, hole: str, after: str) -> bool:
  """Returns whether the hole between `left` and `after` was a word."""
  before = left.rstrip()
  if not before:  # A banner or an icon, unless the sentence goes on.
    return after.islower() or after in _DASHES
  spaced, last = before != left, before[-1]
  joined = after.isalnum() and hole[-1] != ' '
  if not (spaced or joined or last in _SIGNS):
    return False  # After a word: a note.
  if last in '([.!?:;,•·':  # Between two items or two sentences.
    return after.islower() or joined and last not in '.!?'
  word = cast(re.Match, _LAST_WORD.search(before)).group().lower()
  if last in _SIGNS or word in _DEMANDING or word.isdigit():
    return True
  return after.isalnum() or after in ('(', *_DASHES)
