"""Protocol of taggers of salient spans (Section 3.4), and spaCy's tagger.

Only this file imports `spacy`, when it opens a spaCy pipeline.
"""

import bisect
from collections.abc import Sequence
import functools
import itertools
from typing import Any

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.corpus import dates
from realm_tf.corpus import parallel
from realm_tf.text import plain_letters
from realm_tf.text import sentences

_BATCH_TEXTS = 512  # Texts in one task of a worker.
_NAME = 'names and dates'
_LONGEST_PART = 10_000  # Characters; spaCy is slow on longer texts.

# Numbers are not named entities; `dates` finds the dates.
_SKIPPED_LABELS = frozenset(
  {'CARDINAL', 'ORDINAL', 'QUANTITY', 'PERCENT', 'MONEY', 'DATE', 'TIME'}
)


def with_kinds(spans: interfaces.Spans) -> dict[tuple[int, int], str]:
  """Returns span -> kind; spans without a kind are names and dates."""
  return spans if isinstance(spans, dict) else dict.fromkeys(spans, _NAME)


class SpacyTagger:
  """Tags the named entities of a spaCy pipeline, and dates.

  Args:
    name: Name of an installed pipeline, or its directory.
  """

  def __init__(self, name: str, num_workers: int = 1):
    _load_pipeline(name)  # Reports a wrong name before any work.
    self._name = name
    self._num_workers = num_workers

  def tag(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Returns each text's spans; a date replaces entities that it overlaps."""
    # spaCy's own n_process forks, and TensorFlow must not be forked.
    starts = range(0, len(texts), _BATCH_TEXTS)
    batches = [texts[start : start + _BATCH_TEXTS] for start in starts]
    tagged = parallel.ordered_map(
      SpacyWork, (self._name,), batches, self._num_workers
    )
    return list(itertools.chain.from_iterable(tagged))


class SpacyWork:
  """Tags batches of texts in a worker process."""

  def __init__(self, name: str):
    self._pipeline = _load_pipeline(name)

  def __call__(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    plain = [plain_letters.write(text) for text in texts]
    found: list[list[tuple[int, int]]] = [[] for _ in texts]
    parts = (
      (part, (row, start))
      for row, each in enumerate(plain)
      for start, part in sentences.parts(each.text, _LONGEST_PART)
    )
    for doc, (row, start) in self._pipeline.pipe(parts, as_tuples=True):
      found[row] += (
        (start + entity.start_char, start + entity.end_char)
        for entity in doc.ents
        if entity.label_ not in _SKIPPED_LABELS
      )
    return [
      with_dates(text, each.original(entities))
      for text, each, entities in zip(texts, plain, found, strict=True)
    ]


def with_dates(
  text: str, entities: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
  """Returns the dates of `text` and the `entities` outside them, sorted."""
  found = dates.find_dates(text)
  ends = [end for _, end in found]
  kept = []
  for start, end in entities:
    place = bisect.bisect(ends, start)  # First date that ends after `start`.
    if place == len(found) or end <= found[place][0]:
      kept.append((start, end))
  return sorted(found + kept)


@functools.lru_cache(1)
def _load_pipeline(name: str) -> Any:
  import spacy  # pylint: disable=g-import-not-at-top

  try:
    return spacy.load(name)
  except OSError as error:
    raise errors.UserError(
      '--tagger=spacy:NAME must name an installed spaCy pipeline or its '
      f'directory. Found none named {name!r}. Run `python -m spacy download '
      f'{name}`, or use --tagger=rules.'
    ) from error
