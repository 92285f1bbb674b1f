"""Sentences whose salient spans are known already, from JSONL files.

For text that another tagger has tagged, and for the embedded world, which
knows what it wrote.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from realm_tf import errors
from realm_tf.corpus import files


class TaggedSentence(NamedTuple):
  """A sentence with its salient spans.

  Attributes:
    text: The sentence.
    spans: Character spans (start, end) in `text`.
    article_id: Where it is from; '' if from no article of the corpus.
  """

  text: str
  spans: tuple[tuple[int, int], ...]
  article_id: str = ''


def read(paths: Sequence[str]) -> Iterator[TaggedSentence]:
  """Reads lines of {"text": str, "spans": [[start, end]], "id": optional}.

  Raises:
    errors.UserError: A missing file, or a line that is not of this form.
  """
  for where, record in files.read_json_files(paths):
    yield _parse(where, record)


def _parse(where: str, record: dict[str, Any]) -> TaggedSentence:
  text, spans = record.get('text'), record.get('spans')
  if not isinstance(text, str) or not isinstance(spans, list):
    raise errors.UserError(
      f'{where} must have "text", a string, and "spans", a list. Found '
      f'{record!r:.60}.'
    )
  for span in spans:
    is_pair = isinstance(span, list) and [type(x) for x in span] == [int, int]
    if not is_pair or not 0 <= span[0] < span[1] <= len(text):
      raise errors.UserError(
        f'{where} must have spans [start, end] within its text of {len(text)} '
        f'characters. Found {span!r:.40}.'
      )
  return TaggedSentence(
    text, tuple((start, end) for start, end in spans), str(record.get('id', ''))
  )
