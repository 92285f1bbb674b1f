"""Dates in MediaWiki's templates: {{dob|1910|3|5}} is 'March 5, 1910'."""

import re

from realm_tf.wiki.holes import LOST
from realm_tf.wiki.template_call import Call

_MONTHS = (
  'January February March April May June July August September October '
  'November December'
).split()
_ISO = re.compile(r'(\d{4})-(\d\d)(?:-(\d\d))?')
_DATE_LIKE = re.compile(r'[\w\s,.–-]{3,40}')


def _month(text: str) -> str:
  if text.isdecimal() and len(text) < 3 and 1 <= int(text) <= 12:
    return _MONTHS[int(text) - 1]
  if len(text) < 3:
    return ''
  return next((m for m in _MONTHS if m.lower().startswith(text.lower())), '')


def _date(call: Call, year: str, month: str, day: str) -> str:
  """Returns the date in words; the template's arguments set the order."""
  name = _month(month)
  if not name or (day and not day.isdecimal()) or len(day) > 2:
    return year or LOST
  day = day.lstrip('0')
  if not day:
    return f'{name} {year}'.strip()
  day_first = call.named.get('df', '').lower() in ('y', 'yes', 'true', '1')
  if day_first or call.named.get('format') == 'dmy':
    return f'{day} {name} {year}'.strip()
  return f'{name} {day}, {year}' if year else f'{name} {day}'


def _of_numbers(call: Call) -> str:
  """Reads year, month, day, or one date in words or as 2010-05-04."""
  args = (call.unnamed + ['', '', ''])[:3]
  if match := _ISO.fullmatch(args[0]):
    return _date(call, *(part or '' for part in match.groups()))
  if not args[0].lstrip('−-').isdecimal():
    return args[0] if _DATE_LIKE.fullmatch(args[0]) else LOST
  return _date(call, *args)


def _year(call: Call) -> str:
  return call.first(0) if call.first(0).isdecimal() else LOST


def _as_of(call: Call) -> str:
  """Reads {{as of|2011|3|5|lc=y|alt=...}}."""
  if call.named.get('alt'):
    return call.named['alt']
  date = _of_numbers(call)
  if date == LOST:
    return LOST
  word = 'Since' if call.named.get('since') else 'As of'
  lower = call.named.get('lc') or call.name == 'as of lc'
  return f'{word.lower() if lower else word} {date}{call.named.get("post", "")}'


def _about(call: Call) -> str:
  """Reads {{circa|1910|1920}}: c. 1910 – c. 1920."""
  return ' – '.join(f'c. {year}' for year in call.unnamed if year) or 'c.'


def _reign(call: Call) -> str:
  years = call.joined('–')
  return f'r. {years}' if years else LOST


def _age(call: Call) -> str:
  """Reads {{age|1910|3|5|1980|7|9}}; an age today is left out."""
  if len(call.unnamed) < 6 or not all(
    number.isdecimal() and len(number) < 5 for number in call.unnamed[:6]
  ):
    return LOST
  born, died = (tuple(map(int, call.unnamed[i : i + 3])) for i in (0, 3))
  return str(died[0] - born[0] - (died[1:] < born[1:]))


READERS = {
  'date': _of_numbers,
  'year': _year,
  'two dates': lambda call: ' '.join(call.unnamed[:2]) or LOST,
  'as of': _as_of,
  'about': _about,
  'floruit': lambda call: f'fl. {call.joined("–")}'.strip(),
  'reign': _reign,
  'age': _age,
  'born': lambda call: f'b. {call.first(0)}',
  'died': lambda call: f'd. {call.first(0)}',
}
