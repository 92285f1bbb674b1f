"""Reads sentences with named entities in the format of CoNLL-2003."""

from collections.abc import Iterator, Sequence
import re
from typing import NamedTuple

from realm_tf import errors
from realm_tf.corpus import entity_labels
from realm_tf.corpus import files

_LABEL = re.compile(r'O|[BI]-\S+')
_DOCUMENT = '-DOCSTART-'


class LabeledSentence(NamedTuple):
  """A sentence of one or more words, with entities as ranges of words."""

  words: tuple[str, ...]
  entities: tuple[entity_labels.Entity, ...]

  @property
  def text(self) -> str:
    """The words, separated by spaces."""
    return ' '.join(self.words)

  def character_spans(self) -> list[tuple[int, int]]:
    """Returns the characters (start, end) of each entity in `text`."""
    starts = [0]
    for word in self.words:
      starts.append(starts[-1] + len(word) + 1)
    return [(starts[e.start], starts[e.end] - 1) for e in self.entities]


def read(paths: Sequence[str]) -> list[LabeledSentence]:
  """Reads all sentences of all files.

  A line has a word in its first column and the word's IOB1 or IOB2 label in its
  last; columns between are ignored. Tabs separate the columns of a line that
  has some, otherwise spaces do. Blank lines end sentences; -DOCSTART- lines are
  skipped.
  """
  sentences = [
    sentence
    for item in paths
    for path in files.find_files(item)
    for sentence in _read_file(path)
  ]
  if not sentences:
    raise errors.UserError(
      f'{", ".join(paths)} must have labeled sentences; it has none.'
    )
  return sentences


def _read_file(path: str) -> Iterator[LabeledSentence]:
  words, labels = [], []
  for number, line in files.read_lines(path):
    columns = _columns(line)
    if columns and columns[0] == _DOCUMENT:
      columns = []
    if columns:
      word, label = columns[0], columns[-1]
      if len(columns) < 2 or not word or not _LABEL.fullmatch(label):
        raise errors.UserError(
          f'{path}:{number} must be a word and, in the last column, O, B-TYPE '
          f'or I-TYPE; it reads {line.strip()[:40]!r}. Correct it.'
        )
      words.append(word)
      labels.append(label)
    elif words:
      yield _sentence(words, labels)
      words, labels = [], []
  if words:
    yield _sentence(words, labels)


def _columns(line: str) -> list[str]:
  """Returns the columns of a line, none if it is blank.

  Other spaces, such as U+00A0, are a part of a word.
  """
  if not line.strip():
    return []
  if '\t' in line:
    return [column.strip(' ') for column in line.strip('\r\n').split('\t')]
  return re.split(' +', line.strip(' \r\n'))


def _sentence(words, labels) -> LabeledSentence:
  return LabeledSentence(tuple(words), tuple(entity_labels.decode(labels)))
