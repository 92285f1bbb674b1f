"""Reads sentences with known salient spans from JSONL files and datasets."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Optional

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import datasets
from realm_tf.corpus import json_records
from realm_tf.corpus import record_fields
from realm_tf.corpus import sources


class TaggedSentence(NamedTuple):
  """A sentence with its salient spans, (start, end) in characters.

  A dataset with other ids than the corpus has the article's title instead.
  """

  text: str
  spans: tuple[tuple[int, int], ...]
  article_id: str = ''
  title: str = ''


def read(
  inputs: Sequence[str], counts: Optional[counts_lib.Counts] = None
) -> Iterator[TaggedSentence]:
  """Returns the sentences of all `inputs`; reports missing files at once.

  Args:
    inputs: Files, directories and globs of lines {"text": str, "spans":
      [[start, end]], "id": optional}, or 'tfds:NAME'.
  """
  return _read(sources.expand(inputs), counts or counts_lib.Counts())


def _read(
  items: Iterable[str], counts: counts_lib.Counts
) -> Iterator[TaggedSentence]:
  for item in items:
    if item.startswith(datasets.PREFIXES):
      found = _read_dataset(item, counts)
    else:
      records = json_records.read_lines(item, counts)
      found = (sentence for _, sentence in counts.parsed(records, _parse))
    for sentence in found:
      counts.keep('sentences')
      yield sentence


def _read_dataset(
  item: str, counts: counts_lib.Counts
) -> Iterator[TaggedSentence]:
  for title, text, spans in datasets.read_tagged_sentences(item):
    whole = tuple(span for span in spans if span)
    counts.drop('span that cuts a character', len(spans) - len(whole))
    yield TaggedSentence(text, whole, title=title)


def _parse(where: str, record: dict[str, Any]) -> TaggedSentence:
  text, spans = record.get('text'), record.get('spans')
  if not isinstance(text, str) or not isinstance(spans, list):
    raise errors.UserError(
      f'{where} must have "text", a string, and "spans", a list. Found '
      f'{record!r:.60}. Correct it.'
    )
  for span in spans:
    is_pair = isinstance(span, list) and [type(x) for x in span] == [int, int]
    if not is_pair or not 0 <= span[0] < span[1] <= len(text):
      raise errors.UserError(
        f'{where} must have spans [start, end] within its text of {len(text)} '
        f'characters. Found {span!r:.40}. Correct it.'
      )
  return TaggedSentence(
    text,
    tuple((start, end) for start, end in spans),
    record_fields.as_id(where, record.get('id')),
  )
