"""CoNLL-2003's sentences with named entities: files, labels and scores."""

from collections.abc import Iterable, Iterator, Sequence
import itertools
import re
from typing import NamedTuple

from realm_tf import errors
from realm_tf.corpus import files

OUTSIDE = 'O'
_LABEL = re.compile(r'O|[BI]-\S+')
_DOCUMENT = '-DOCSTART-'


class Entity(NamedTuple):
  """A named entity: words or characters [start, end)."""

  start: int
  end: int
  type: str


class Scores(NamedTuple):
  """Scores in percent; a right entity has the right edges and type."""

  precision: float
  recall: float
  f1: float


class LabeledSentence(NamedTuple):
  """One or more words, with entities as ranges of words."""

  words: tuple[str, ...]
  entities: tuple[Entity, ...]

  @property
  def text(self) -> str:
    return ' '.join(self.words)

  def in_characters(self) -> list[Entity]:
    """Returns the entities as ranges of characters of `text`."""
    starts = [0, *itertools.accumulate(len(word) + 1 for word in self.words)]
    return [
      Entity(starts[start], starts[end] - 1, kind)
      for start, end, kind in self.entities
    ]


def read(paths: Sequence[str]) -> list[LabeledSentence]:
  """Reads all sentences of files and globs.

  The first column of a line is a word, and the last its IOB1 or IOB2 label.
  Tabs separate columns or, in a line without tabs, spaces. A blank line ends a
  sentence; -DOCSTART- lines are skipped.
  """
  sentences = [
    sentence
    for item in paths
    for path in files.find_files(item)
    for sentence in _read_file(path)
  ]
  if not sentences:
    raise errors.UserError(
      f'{", ".join(paths)} must have labeled sentences. Found none. Give '
      'other files.'
    )
  return sentences


def _read_file(path: str) -> Iterator[LabeledSentence]:
  words: list[str] = []
  labels: list[str] = []
  for number, line in itertools.chain(files.read_lines(path), [(0, '')]):
    # Other spaces, such as U+00A0, are a part of a word.
    columns = [column.strip(' \r\n') for column in line.split('\t')]
    if '\t' not in line:
      columns = re.split(' +', line.strip(' \r\n'))
    if not line.strip() or columns[0] == _DOCUMENT:
      if words:
        yield LabeledSentence(tuple(words), tuple(decode(labels)))
      words, labels = [], []
      continue
    if len(columns) < 2 or not columns[0] or not _LABEL.fullmatch(columns[-1]):
      raise errors.UserError(
        f'{path}:{number} must be a word and, in the last column, O, B-TYPE '
        f'or I-TYPE. Found {line.strip()[:40]!r}. Correct it.'
      )
    words.append(columns[0])
    labels.append(columns[-1])


def decode(labels: Sequence[str]) -> list[Entity]:
  """Returns the entities of IOB1 or IOB2 labels, as conlleval does."""
  entities, start = [], 0
  for i, label in enumerate([*labels, OUTSIDE]):
    prefix, _, kind = label.partition('-')
    before = labels[i - 1].partition('-')[2] if i else ''
    if before and (prefix != 'I' or kind != before):
      entities.append(Entity(start, i, before))
    if kind and (prefix == 'B' or kind != before):
      start = i
  return entities


def encode(num_words: int, entities: Iterable[Entity]) -> list[str]:
  """Returns the IOB2 labels of entities that do not overlap."""
  labels = [OUTSIDE] * num_words
  for start, end, kind in entities:
    labels[start:end] = [f'B-{kind}'] + [f'I-{kind}'] * (end - start - 1)
  return labels


def score(
  gold: Iterable[Sequence[Entity]], predicted: Iterable[Sequence[Entity]]
) -> Scores:
  """Returns micro-averaged scores over all sentences."""
  num_gold = num_predicted = num_right = 0
  for expected, found in zip(gold, predicted, strict=True):
    num_gold += len(expected)
    num_predicted += len(found)
    num_right += len(set(expected) & set(found))
  precision = 100.0 * num_right / max(num_predicted, 1)
  recall = 100.0 * num_right / max(num_gold, 1)
  return Scores(
    precision, recall, 200.0 * num_right / max(num_gold + num_predicted, 1)
  )
