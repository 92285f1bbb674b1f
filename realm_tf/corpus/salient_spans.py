"""What a tagger of salient spans offers, and how to get one by name.

  sentences -> tagger -> spans of named entities and dates (Section 3.4)

The only file that imports `spacy`, and only when a spaCy pipeline is asked for.
"""

from collections.abc import Iterable, Sequence
import functools
import itertools
from typing import Protocol

from realm_tf import errors
from realm_tf.corpus import dates
from realm_tf.corpus import parallel
from realm_tf.corpus import rules_tagger

_BATCH_TEXTS = 512  # Of a worker at a time.

# Numbers are no named entities, and dates come from the regular expression.
_SKIPPED_LABELS = frozenset(
  {'CARDINAL', 'ORDINAL', 'QUANTITY', 'PERCENT', 'MONEY', 'DATE', 'TIME'}
)


class Tagger(Protocol):
  """Finds what is worth masking."""

  def tag(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Returns character spans per text, sorted and not overlapping."""


class SpacyTagger:
  """The named entities of a spaCy pipeline, and dates.

  Args:
    name: Of an installed pipeline, or its directory.
    num_workers: Processes that tag; no result depends on it.

  Raises:
    UserError: There is no such pipeline.
  """

  def __init__(self, name: str, num_workers: int = 1):
    _load_pipeline(name)  # A mistake in the name shows before the first work.
    self._name = name
    self._num_workers = num_workers

  def tag(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """See `Tagger`; where a date meets an entity, the date stays."""
    # Not spaCy's own n_process: it forks, and TensorFlow must not be forked.
    starts = range(0, len(texts), _BATCH_TEXTS)
    batches = [texts[start : start + _BATCH_TEXTS] for start in starts]
    tagged = parallel.ordered_map(
      SpacyWork, (self._name,), batches, self._num_workers
    )
    return list(itertools.chain.from_iterable(tagged))


class SpacyWork:
  """Tags batches of texts; one in each worker process.

  Args:
    name: See `SpacyTagger`.
  """

  def __init__(self, name: str):
    self._pipeline = _load_pipeline(name)

  def __call__(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    return [
      with_dates(
        text,
        [
          (entity.start_char, entity.end_char)
          for entity in doc.ents
          if entity.label_ not in _SKIPPED_LABELS
        ],
      )
      for text, doc in zip(texts, self._pipeline.pipe(texts), strict=True)
    ]


def with_dates(
  text: str, entities: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
  """Returns the dates of `text`, and `entities` that meet none, sorted."""
  found = dates.find_dates(text)
  found += [
    (start, end)
    for start, end in entities
    if all(end <= a or b <= start for a, b in found)
  ]
  return sorted(found)


def make_tagger(
  spec: str, gazetteer: Iterable[str] = (), num_workers: int = 1
) -> Tagger:
  """Returns the tagger that a flag names.

  Args:
    spec: 'rules', or 'spacy:NAME' with an installed pipeline or its directory.
    gazetteer: Names that 'rules' shall know.
    num_workers: Processes of spaCy.

  Raises:
    UserError: If there is no such tagger, or spaCy lacks the pipeline.
  """
  kind, _, name = spec.partition(':')
  if spec == 'rules':
    return rules_tagger.RulesTagger(gazetteer)
  if kind == 'spacy' and name:
    return SpacyTagger(name, num_workers)
  raise errors.UserError(
    f"--tagger must be 'rules', 'spacy:NAME' or 'bert:DIR'; found {spec!r}."
  )


@functools.lru_cache(1)
def _load_pipeline(name):
  try:
    # Not at the top: spaCy is slow to load, and few runs need it.
    import spacy  # pylint: disable=g-import-not-at-top
  except ImportError as error:
    raise errors.UserError(
      '--tagger=spacy:NAME needs spaCy, which is not installed; run `pip '
      'install spacy`, or use --tagger=rules.'
    ) from error
  try:
    return spacy.load(name)
  except OSError as error:
    raise errors.UserError(
      '--tagger=spacy:NAME needs an installed spaCy pipeline or its '
      f'directory; found none named {name!r}. Run `python -m spacy download '
      f'{name}`, or use --tagger=rules.'
    ) from error
