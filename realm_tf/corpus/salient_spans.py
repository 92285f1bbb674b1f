"""Taggers of salient spans: names and dates (Section 3.4).

The paper's tagger is a BERT trained on CoNLL-2003 (`training.taggers`). Here a
name is a span of spaCy's or, without a model, a run of capitalized words, which
'of', 'de', 'van' and the like may join. The first word of a sentence is always
capitalized and needs more evidence.

Only this file imports `spacy`, when it opens a spaCy pipeline.
"""

import bisect
import collections
from collections.abc import Sequence
import functools
import itertools
import re
from typing import Any

from realm_tf import errors
from realm_tf.corpus import dates
from realm_tf.corpus import parallel
from realm_tf.text import english
from realm_tf.text import plain_letters
from realm_tf.text import sentences

_CONNECTORS = (
  r'(?:of|the|de|del|della|der|den|des|di|da|das|do|dos|du|la|le|las|los|van|'
  r'von|zu|zur|und|et|y|e|bin|ibn|al|el|ul|ad|for|&)'
)
_UPPER = r'[^\W\d_a-zß-öø-ÿ]'
# 'St.', 'J.', 'U.S.', "O'Brien", 'Rolls-Royce', 'al-Assad', 'McDonald'.
_WORD = (
  rf'(?:(?:{_UPPER}\.)+(?:{_UPPER}(?![^\W\d_]))?|(?:St|Mr|Mrs|Ms|Dr|Jr|Sr|Mt|'
  rf'Ft|Gen|Col|Lt|Capt|Prof|Rev|Sgt)\.|'
  rf"(?:[ODLdl]['’]|[Aa]l-|El-)?{_UPPER}[^\W\d_]*"
  rf"(?:-[^\W\d_]+|['’](?!s\b)[^\W\d_]+)*)"
)
_RUN = re.compile(
  rf"(?<![\w'’-]){_WORD}(?: (?:{_CONNECTORS} (?:the |la |los )?)?{_WORD})*"
  rf'(?!\w)'
)
_UPPERCASE = re.compile(_UPPER)
_NO_SPACE = re.compile(r'\S+')
_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
# First word of a sentence: at the start of a line or after an end mark. It is
# optional, so a search continues after spaces without a word.
_FIRST_WORD = re.compile(
  r'(?:^|[.!?]["”’)\]]* |\n)[\s"“‘\'(\[*•–-]*([^\W_]+(?:[\'’-][^\W_]+)*)?'
)
_NUMERAL_OR_LETTER = re.compile(r'[IVXLC]+|.')
# English words that may begin a sentence but are no names: function words,
# numerals, and the days and months that `dates` tags. 'May' is one of them.
_LOWER_WORDS = frozenset(english.WORDS['lower words'])
# Names that need no evidence as first words.
_COUNTRIES = frozenset(english.WORDS['countries'])
_MAX_WORDS = 8  # Longer runs are headings or shouting.


class RulesTagger:
  """Tags dates and capitalized names."""

  def tag(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Returns each text's character spans, sorted, without overlaps.

    All `texts` are evidence about first words, so pass those from one document
    in one call.
    """
    plain = [plain_letters.write(text) for text in texts]
    counts = _counts([each.text for each in plain])
    return [each.original(_tag_text(each.text, counts)) for each in plain]


def _counts(texts: Sequence[str]) -> collections.Counter[str]:
  """Counts how often words inside sentences are capitalized or not."""
  counts: collections.Counter[str] = collections.Counter()
  for text in texts:
    counts.update(_TOKEN.findall(text))
    counts.subtract(_FIRST_WORD.findall(text))
  return counts


def _tag_text(text, counts):
  spans = dates.find_dates(text)
  ends = [end for _, end in spans]
  first_words = {match.start(1) for match in _FIRST_WORD.finditer(text)}
  names = []
  for match in _RUN.finditer(text):
    for start, end in _cut_at_dates(match.span(), spans, ends):
      name = _trim(text, start, end, start in first_words, counts)
      if name is not None:
        names.append(name)
  return sorted(spans + names)


def _cut_at_dates(run, date_spans, date_ends):
  """Yields the parts of a run outside dates."""
  start, end = run
  for place in range(bisect.bisect(date_ends, start), len(date_spans)):
    date_start, date_end = date_spans[place]
    if end <= date_start:
      break
    if start < date_start:
      yield start, date_start
    start = date_end
  if start < end:
    yield start, end


def _trim(text, start, end, begins_sentence, counts):
  """Returns a run without words at its ends that are no names, else None."""
  words = [match.span() for match in _NO_SPACE.finditer(text, start, end)]
  if len(words) > _MAX_WORDS:
    return None
  while words and not _opens_name(text, words, begins_sentence, counts):
    words.pop(0)
    begins_sentence = False
  while words and not _closes_name(text, words):
    words.pop()
  if not words or _NUMERAL_OR_LETTER.fullmatch(text, words[0][0], words[-1][1]):
    return None
  return words[0][0], words[-1][1]


def _opens_name(text, words, begins_sentence, counts):
  word = text[slice(*words[0])]
  if not _UPPERCASE.search(word):
    return False
  if not begins_sentence:
    return not _is_lower_word(word)
  if word in _COUNTRIES or (len(word) > 1 and word.isupper()):
    return True
  # Before a capitalized word, less evidence is enough.
  is_followed = len(words) > 1 and text[words[1][0]].isupper()
  is_mostly_upper = counts[word] + is_followed > counts[word.lower()]
  return is_mostly_upper and not _is_lower_word(word)


def _closes_name(text, words):
  word = text[slice(*words[-1])]
  if word == 'I':
    return len(words) > 1  # 'World War I' is more common than 'In Paris I'.
  return word[0].isupper() and not _is_lower_word(word)


def _is_lower_word(word):
  """Returns True for 'Us' and 'Who', but False for 'US' and 'WHO'."""
  is_acronym = len(word) > 1 and word.isupper()
  return word.lower() in _LOWER_WORDS and not is_acronym


_BATCH_TEXTS = 512  # Texts in one task of a worker.
_LONGEST_PART = 10_000  # Characters; spaCy is slow on longer texts.

# Numbers are not named entities; `dates` finds the dates.
_SKIPPED_LABELS = frozenset(
  {'CARDINAL', 'ORDINAL', 'QUANTITY', 'PERCENT', 'MONEY', 'DATE', 'TIME'}
)


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
