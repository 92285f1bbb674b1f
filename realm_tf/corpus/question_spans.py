"""Finds the spans of a sentence that a question may ask for, and how.

Rules for English: dates, numbers before a noun, the tagger's names alone and in
lists, plain noun phrases, and the reasons, purposes and means of a clause. The
words around a name tell persons from places; a person's last name counts in the
whole article. A quarter of the answers that people choose have four words or
more.
"""

from collections.abc import Collection, Iterator, Sequence
import itertools
import re
from typing import NamedTuple

from realm_tf.corpus import dates
from realm_tf.text import english

DATE, NUMBER, PERSON, PLACE, NAME, PHRASE, REASON = (
  'dates',
  'numbers',
  'persons',
  'places',
  'other names',
  'phrases',
  'reasons',
)


class Asked(NamedTuple):
  """An answer, and the words that ask for it.

  Attributes:
    start: First character of the answer.
    end: Its end.
    kind: One of DATE to REASON.
    first: First character that a question leaves out: of a preposition, an
      article, or the answer.
    last: End of the words that a question leaves out, as a noun after a number.
    words: What may replace it: 'when', 'in what year'. None if the sentence
      makes no good question, but answers questions of other sentences.
  """

  start: int
  end: int
  kind: str
  first: int
  last: int
  words: tuple[str, ...]


_any = english.one_of
_WORDS = {name: frozenset(words) for name, words in english.WORDS.items()}
_PERSON = _any('person nouns')
_LONGEST = 1000  # Characters of a sentence; a longer one is a list.
_THINGS = _WORDS['name nouns'] | _WORDS['place nouns']
_WIDTH = 50  # Characters before a span that tell its kind.
_FUNCTION = _WORDS['lower words'] | _WORDS['auxiliaries']
_PAIRS = [*english.WORDS['past verbs'], *english.WORDS['present verbs']]
_VERBS = frozenset(pair.partition(':')[0] for pair in _PAIRS)

# Dates. 'When' replaces the first prepositions; the others stay.
_BEFORE_DATE = re.compile(
  r'(?:^|(?<=[\s(]))(?:(?P<when>[Ii]n|[Oo]n|[Dd]uring|[Aa]t)|'
  r'(?P<other>[Bb]y|[Ss]ince|[Uu]ntil|[Ff]rom|[Aa]fter|[Bb]efore))'
  r' (?:the )?(?:year )?$'
)
_YEAR = re.compile(r'(?:1\d|20)\d\d$')
_DATE_NOUNS = (
  (_YEAR, 'year'),
  (re.compile(r'.*centur'), 'century'),
  (re.compile(r'.*\d0s$'), 'decade'),
  (re.compile(r'.*(?:[A-Z][a-z]+ \d\d?\b|\d [A-Z][a-z]+)'), 'date'),
)

# Numbers, and the counted things.
_FIGURES = (
  r'(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)'
  r'(?: (?:hundred|thousand|million|billion|trillion))?'
)
_COUNT = rf'(?:{_FIGURES}|{_any("numerals")}(?:-(?:one|{_any("numerals")}))?)'
_ABOUT = (
  r'(?:(?:over|about|around|nearly|almost|only|approximately|roughly|some|'
  r'more than|less than|fewer than|at least|at most|up to) )?'
)
_BEFORE_NUMBER = rf'(?<![\w.,$€£¥/–-]){_ABOUT}'
_NUMBER = re.compile(
  rf'{_BEFORE_NUMBER}(?P<number>{_COUNT})'
  rf'(?P<noun> (?:[a-z][a-z-]+ ){{0,2}}?(?:(?!{_any("no plurals")}\b)'
  rf'[a-z][a-z-]+[^s\W]s|{_any("plurals")}))(?![\w-])'
)
_PERCENT = re.compile(
  rf'{_BEFORE_NUMBER}(?P<number>{_FIGURES} ?(?:%|percent\b|per cent\b))'
)
_MONEY = re.compile(
  rf'(?<!\w){_ABOUT}(?P<number>(?:US)?[$€£¥] ?{_FIGURES}|'
  rf'{_FIGURES} (?:dollars|euros|pounds sterling))(?![\w-])'
)

# Noun phrases in lower case, before the end of a clause.
_PLAIN = rf"(?!(?:{'|'.join(sorted(_FUNCTION))})\b)[a-z][a-z'-]+"
_CLAUSE_END = (
  r'(?=[.,;:?!]|$| (?:and|but|or|which|that|who|in|on|at|for|to|from|with|by|'
  r'as|because|during|after|before|while|when|where|is|are|was|were|has|had)\b)'
)
_MORE = (  # 'the rise [of trade and crafts]'.
  rf'(?: (?:of|and|or|in|for|to|with|between) (?:the |an? |its |their )?'
  rf'(?:{_PLAIN} ){{0,2}}{_PLAIN}){{0,2}}'
)
_PHRASE = re.compile(
  rf'\b(?P<article>[Tt]he|[Aa]n?|[Ii]ts|[Tt]heir|[Hh]is|[Hh]er) (?P<phrase>'
  rf'(?:{_PLAIN} ){{0,2}}{_PLAIN}{_MORE}){_CLAUSE_END}'
)
_BARE_PHRASE = re.compile(
  rf'\b(?:by|of|with|for|into|through|from|about|including|called|against|'
  rf'between|without|such as|includes?|contains?|produces?|uses?|using|have|'
  rf'has) (?P<phrase>(?:{_PLAIN} ){{0,2}}{_PLAIN}{_MORE}){_CLAUSE_END}'
)
# The reason, purpose or means of a clause, to its end.
_REST = r'[^.,;:?!()"]{12,80}?(?=[.,;:?!]|$)'
_BASE = rf'(?:{"|".join(sorted({pair.partition(":")[2] for pair in _PAIRS}))})'
_REASON = re.compile(
  rf'\b(?:(?:because(?: of)?|due to|in order|so as) (?P<reason>{_REST})|'
  rf'(?<=[a-z]ed )(?P<purpose>to {_BASE} {_REST})|'
  rf'by (?P<means>[a-z]+ing {_REST}))'
)

# Names.
_ARTICLE = re.compile(r'(?<!\w)[Tt]he $')
_WHERE = re.compile(r'(?<!\w)([Ii]n|[Aa]t|[Nn]ear|[Ww]ithin|[Oo]utside) $')
_OCCUPATION = re.compile(
  rf'(?<!\w)(?:[Tt]he |[Aa]n? )?(?:[\w-]+ )?(?P<noun>{_PERSON}) $'
)
_NEXT_WORD = re.compile(r' ([a-z][\w-]*)')
_SPEAKS = re.compile(
  rf'(?: (?:also |had |has |once |later )?{_any("speech verbs")}\b|, who\b|'
  r',? born\b| was born\b)'
)
_TITLES = (
  r'(?:President|King|Queen|Emperor|Empress|Pope|Prince|Princess|Saint|Sir|'
  r'Lord|Lady|Dr\.?|Mr\.?|Mrs\.?|Ms\.?|General|Captain|Colonel|Professor|'
  r'Mayor|Justice|Judge|Minister|Rabbi|Chairman|Secretary|Chancellor|Count|'
  r'Baron|Archbishop|Bishop|Senator|Governor|Admiral|Duke|Sultan)'
)
_TITLE = re.compile(rf'{_TITLES}(?!\w)')
_TITLE_BEFORE = re.compile(rf'{_TITLES} $')
# Neighbours in a list: one of several answers, so no answer. Or a part of a
# longer name or compound.
_LISTED = re.compile(
  r"[-/–.]\w| ?\d|['’]|,? (?:and|or|&) (?:the )?[A-Z]|, [A-Z][^,.]*,"
)
_LISTING = re.compile(
  r"(?:[A-Z][\w'’.-]*,?(?: \([^()]*\))? (?:and|or|&)|(?:[A-Z]\S*|and|or),) "
  r'(?:the )?$|[-/–]$|(?P<word>[A-Z]\w+) $'
)
_JOINT = re.compile(r',? and (?:the )?|, (?:the )?')
_NATIONAL = re.compile(r'\w+(?:ish|ese|[^n]ian|ean)$')


def find(
  text: str, names: Sequence[tuple[int, int]], people: Collection[str] = ()
) -> list[Asked]:
  """Returns the spans of a sentence that a question may ask for.

  Args:
    names: The tagger's character spans.
    people: Last names of persons, from `last_names`.
  """
  if len(text) > _LONGEST:
    return []
  found: list[Asked] = []
  for asked in itertools.chain(
    _reasons(text),
    _dates(text),
    _numbers(text),
    _lists(text, names, people),
    _names(text, names, people),
    _phrases(text),
  ):
    if all(
      asked.end <= other.start or other.end <= asked.start for other in found
    ):
      found.append(asked)
  # Terms of the tagger; they may be of any language.
  return found or [
    Asked(start, end, PHRASE, start, end, ('what',)) for start, end in names
  ]


def last_names(text: str, names: Sequence[tuple[int, int]]) -> Iterator[str]:
  """Yields the last words of names that are surely persons."""
  for start, end in names:
    if _is_person(text, start, end):
      yield text[start:end].rpartition(' ')[2]


def _is_person(
  text: str, start: int, end: int, people: Collection[str] = ()
) -> bool:
  before = text[max(0, start - _WIDTH) : start]
  name = text[start:end]
  first, last = name.split()[0], name.split()[-1]
  if last in people:
    return True
  if not first[0].isupper() or ' of ' in name or _ARTICLE.search(before):
    return False
  if last.lower() in _THINGS or name in _WORDS['countries']:
    return False
  return bool(
    (first != last and first in _WORDS['given names'])
    or _TITLE.match(name)
    or _TITLE_BEFORE.search(before)
    or _SPEAKS.match(text, end)
    or _OCCUPATION.search(before)
  )


def _dates(text: str) -> Iterator[Asked]:
  for start, end in dates.find_dates(text):
    left = max(0, start - _WIDTH)
    before = _BEFORE_DATE.search(text[left:start])
    if not before or text[end : end + 1] in ('-', '–', '/'):
      yield Asked(start, end, DATE, start, end, ())
      continue
    answer = text[start:end]
    noun = next((n for form, n in _DATE_NOUNS if form.match(answer)), 'time')
    if before['when']:
      what = f'{before["when"].lower()} what {noun}'
      words = ('when',) if noun == 'time' else ('when', 'when', what)
    else:
      words = (f'{before["other"].lower()} what {noun}',)
    yield Asked(start, end, DATE, left + before.start(), end, words)


def _numbers(text: str) -> Iterator[Asked]:
  for match in _PERCENT.finditer(text):
    yield _number(match, 'what percentage')
  for match in _MONEY.finditer(text):
    following = _NEXT_WORD.match(text, match.end())
    if not following or not _is_noun(following[1]):
      yield _number(match, 'how much', 'how much money')
  for match in _NUMBER.finditer(text):
    if not _YEAR.fullmatch(match['number']):
      yield _number(match, f'how many{match["noun"]}')


def _number(match: re.Match, *words: str) -> Asked:
  return Asked(*match.span('number'), NUMBER, *match.span(), words)


def _reasons(text: str) -> Iterator[Asked]:
  for match in _REASON.finditer(text):
    kind = str(match.lastgroup)
    word = 'how' if kind == 'means' else 'why'
    yield Asked(*match.span(kind), REASON, *match.span(), (word,))


def _lists(
  text: str, names: Sequence[tuple[int, int]], people: Collection[str]
) -> Iterator[Asked]:
  """Yields names that are joined to 'A and B', or to 'A, B, and C'."""
  lists: list[list[tuple[int, int]]] = []
  for name in names:
    if lists and _JOINT.fullmatch(text, lists[-1][-1][1], name[0]):
      lists[-1].append(name)
    else:
      lists.append([name])
  for each in lists:
    if len(each) > 1 and ' and ' in text[each[-2][1] : each[-1][0]]:
      start, end = each[0][0], each[-1][1]
      word = 'who' if _is_person(text, *each[0], people) else 'what'
      yield Asked(start, end, NAME, start, end, (word,))


def _names(
  text: str, names: Sequence[tuple[int, int]], people: Collection[str]
) -> Iterator[Asked]:
  for start, end in names:
    if not text[start].isupper() or end - start < 2:
      continue
    before = text[max(0, start - _WIDTH) : start]
    is_person = _is_person(text, start, end, people)
    words, left_out, kind = (
      _of_person(before) if is_person else _of_thing(text[start:end], before)
    )
    following = _NEXT_WORD.match(text, end)
    listing = _LISTING.search(before)
    if (
      _LISTED.match(text, end)
      or (listing and (listing['word'] or '').lower() not in _FUNCTION)
      # It describes the noun: 'Chinese government'.
      or (following and _is_noun(following[1]))
    ):
      words = ()
    yield Asked(start, end, kind, start - left_out, end, words)


def _of_person(before: str) -> tuple[tuple[str, ...], int, str]:
  """Returns the words, the characters left out before, and the kind."""
  if job := _OCCUPATION.search(before):
    return (f'which {job["noun"]}', 'who'), len(job[0]), PERSON
  return ('who',), 0, PERSON


def _of_thing(name: str, before: str) -> tuple[tuple[str, ...], int, str]:
  """Returns the words, the characters left out before, and the kind."""
  article = _ARTICLE.search(before)
  width = len(article[0]) if article else 0
  where = _WHERE.search(before[: len(before) - width])
  noun = 'country' if name in _WORDS['countries'] else _head(name)
  is_place = noun in _WORDS['place nouns']
  words = (f'what {noun}', f'which {noun}') if noun else ('what',)
  if where and not noun and _NATIONAL.match(name):
    return ('what language',), width, NAME
  if where and (is_place or not noun):
    preposition = where[1].lower()
    place = f'{preposition} {words[0] if noun else "what place"}'
    words = ('where', place) if preposition in ('in', 'at') else (place,)
    return words, width + len(where[0]), PLACE
  if not article and not noun and before.endswith(' by '):
    return ('who',), 0, PERSON
  return words, width, PLACE if is_place else NAME


def _is_noun(word: str) -> bool:
  """Returns whether a word after a name is probably a noun or an adjective."""
  if word in _FUNCTION or word in _VERBS or word.endswith(('ed', 'ly')):
    return False
  return word not in _WORDS['speech verbs']


def _head(name: str) -> str:
  """Returns the noun that tells a name's kind: 'river', or ''."""
  words = name.split()
  place = words.index('of') - 1 if 'of' in words[1:] else -1
  noun = words[place].lower()
  return noun if len(words) > 1 and noun in _WORDS['name nouns'] else ''


def _phrases(text: str) -> Iterator[Asked]:
  for match in _PHRASE.finditer(text):
    if _is_plain(match['phrase']):
      if match['article'].lower() not in ('a', 'an') and ' ' not in match[2]:
        continue  # 'The city' is known from before.
      noun = match['phrase'].split(' of ')[0].split()[-1]
      words = ('who', 'what') if noun in _WORDS['person nouns'] else ('what',)
      yield Asked(*match.span('phrase'), PHRASE, *match.span(), words)
  for match in _BARE_PHRASE.finditer(text):
    if _is_plain(match['phrase']):
      start, end = match.span('phrase')
      yield Asked(start, end, PHRASE, start, end, ('what',))


def _is_plain(phrase: str) -> bool:
  """Returns whether a phrase ends like a noun that says something."""
  words = phrase.split()
  return (
    len(phrase) > 4
    and not words[-1].endswith(('ly', 'ing', 'ed'))
    and words[-1] not in _WORDS['no nouns']
    and words[0] not in _WORDS['no nouns']
    and words[-1] not in _VERBS
  )
