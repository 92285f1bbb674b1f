"""Tags dates and capitalized names by rules, without a model.

The paper's tagger is a BERT trained on CoNLL-2003 (Section 3.4). Here a name is
a run of capitalized words, which 'of', 'de', 'van' and the like may join. The
first word of a sentence is always capitalized and needs more evidence.
"""

import bisect
import collections
from collections.abc import Sequence
import re

from realm_tf.corpus import dates
from realm_tf.text import english
from realm_tf.text import plain_letters

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
