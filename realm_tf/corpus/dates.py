"""Finds dates in English text by regular expression (Section 3.4).

Examples: "20 July 1969", "30 May – 2 June 1940", "the '60s", "44 BC",
"19th century", "in 1969". Numbers with a unit and lone weekdays are no dates.
"""

import re

from realm_tf.text import english
from realm_tf.text import plain_letters

_MONTHS = english.one_of('months')
_MONTH = (
  rf'(?:{_MONTHS}\b'
  r'|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec)\b\.?)'
)
# 'May' and 'March' are also words, and abbreviations may be names: these need a
# preposition or a day or year.
_PLAIN_MONTH = rf'(?!March|May){_MONTHS}\b'
_WEEKDAY = r'(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? (?:the )?)?'
_DAY = r'(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?'
_DAYS = rf'{_DAY}(?: ?[-–] ?{_DAY})?'
_YEAR = r'(?:1\d|20)\d\d'
_ERA = r'(?:BCE?|CE|AD|B\.C\.(?:E\.)?|A\.D\.)(?!\w)'
_ORDINAL = english.one_of('ordinals')
_YEAR_OR_OLDER = rf'(?:{_YEAR}|\d{{1,4}} ?{_ERA})'
_DASH = r'(?: ?[-–—] ?)'
_TENS = r'(?:[Tt]wen|[Tt]hir|[Ff]or|[Ff]if|[Ss]ix|[Ss]even|[Ee]igh|[Nn]ine)ties'

# Words before a number from 1000 to 2099 that make it a year. Units after it
# make it a quantity.
_BEFORE_YEAR = (
  english.one_of('before a year')
  + r'[ -]|[(]|'
  + ''.join(f'(?<!{word} )' for word in english.WORDS['quantities'])
  + r'\bof '
)
_UNITS = english.one_of('units')
_NO_NUMBER_AFTER = rf'(?![\w°%]|[.,/]\d|[-–]\d|[- ](?:{_UNITS})(?!\w))'

_FORMS = (
  # 'May 30 – June 2, 1940', '30 May – 2 June 1940', 'June–August 1940'.
  rf'{_MONTH} {_DAY}{_DASH}{_MONTH} {_DAY}(?!\d)(?:,? {_YEAR_OR_OLDER})?',
  rf'{_DAY} {_MONTH}{_DASH}{_DAY} {_MONTH}(?:,? {_YEAR_OR_OLDER})?',
  rf'{_MONTH}{_DASH}{_MONTH},? {_YEAR_OR_OLDER}',
  rf'{_WEEKDAY}{_DAYS} (?:of )?{_MONTH}(?:,? (?:of )?{_YEAR_OR_OLDER})?',
  rf'{_WEEKDAY}{_MONTH} (?:the )?{_DAYS}(?!\d)(?:,? {_YEAR_OR_OLDER})?',
  rf'{_MONTH}(?: of|,)? {_YEAR_OR_OLDER}',
  rf'{_YEAR}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])(?!\d)',
  rf'\d{{1,2}}/\d{{1,2}}/{_YEAR}(?!\d)',
  rf'(?:[Ss]pring|[Ss]ummer|[Aa]utumn|[Ff]all|[Ww]inter)'
  rf'(?: of|,)? {_YEAR}(?:[-–/]\d\d)?{_NO_NUMBER_AFTER}',
  rf'(?i:{_ORDINAL}(?:(?:,? and | to | or | ?[-–] ?){_ORDINAL})?)'
  rf'[- ]centur(?:y|ies)(?: {_ERA})?',
  rf'(?i:{_ORDINAL}(?: and {_ORDINAL})?)[- ]millenni(?:um|a)(?: {_ERA})?',
  rf'(?:1\d|20)\d0s{_DASH}(?:1\d|20)?\d0s(?!\w)',
  rf'(?:1\d|20)?\d0s(?: {_ERA})?(?!\w)',
  rf'(?:(?:[Ee]igh|[Nn]ine)teen|[Tt]wenty)[- ]{_TENS}',
  rf'(?:(?<=\b[Tt]he )|(?<=[Tt]he early )|(?<=[Tt]he late )){_TENS}',
  rf'\d{{1,5}}(?: ?[-–] ?\d{{1,4}})? ?{_ERA}',
  r'(?:AD|A\.D\.) ?\d{1,4}(?!\w)',
  # The second half of a range may be short, '1939–45'.
  rf'{_YEAR} ?[-–—] ?(?:{_YEAR}|\d\d(?! {_MONTH})|present){_NO_NUMBER_AFTER}',
  r'(?<=(?:in|of|by) )(?:March|May)\b(?! \w+ (?:be|have))',
  r'(?<=(?:since|until|early|after) )(?:March|May)\b',
  rf'{_PLAIN_MONTH}',
)
_DATE = re.compile(
  r'(?:(?<![\w$€£#.,/:-])|(?<=[Mm]id-)|(?<=(?:pre|Pre)-)|(?<=post-))(?:'
  + '|'.join(f'(?:{form})' for form in _FORMS)
  + r')'
  # Not inside parts of names and numbers.
  r'(?!\w)'
)
_LONE_YEAR = re.compile(
  rf'(?:(?<!\w)(?:{_BEFORE_YEAR}))(?P<year>{_YEAR}){_NO_NUMBER_AFTER}'
)
_NEXT_YEAR = re.compile(
  rf'(?:,? (?:and|or|to) |, |; )(?P<year>{_YEAR}){_NO_NUMBER_AFTER}'
)


# A quick test that rules out most sentences.
_HINT = re.compile(rf'\d|{_MONTHS}|centur|ties|millenni')


def find_dates(text: str) -> list[tuple[int, int]]:
  """Returns the character spans of all dates, sorted, without overlaps."""
  plain = plain_letters.write(text)
  return plain.original(_find(plain.text))


def _find(text: str) -> list[tuple[int, int]]:
  if not _HINT.search(text):
    return []
  spans = [match.span() for match in _DATE.finditer(text)]
  taken = bytearray(len(text))  # 1 for each character of a date.
  for start, end in spans:
    taken[start:end] = b'\1' * (end - start)
  for match in _LONE_YEAR.finditer(text):
    _add(spans, taken, match.span('year'))
  # 'in 1969, 1970 and 1971': a number after a year is also a year.
  for _, end in spans:
    if text[end - 1].isdigit() and (match := _NEXT_YEAR.match(text, end)):
      _add(spans, taken, match.span('year'))
  return sorted(spans)


def _add(
  spans: list[tuple[int, int]], taken: bytearray, span: tuple[int, int]
) -> None:
  """Appends a span if it overlaps no other."""
  start, end = span
  if not any(taken[start:end]):
    taken[start:end] = b'\1' * (end - start)
    spans.append(span)
