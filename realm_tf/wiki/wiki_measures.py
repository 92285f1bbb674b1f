"""Measures in MediaWiki's templates: {{convert|5|ft|6|in|m}} is '5 ft 6 in'."""

import re

from realm_tf.wiki import names
from realm_tf.wiki import wiki_numbers
from realm_tf.wiki.holes import LOST
from realm_tf.wiki.names import NAMES
from realm_tf.wiki.template_call import Call

# Code of a unit -> displayed text; other codes are displayed unchanged.
_SYMBOLS = names.inverse('units')
# Unit -> units that make one measure with it: 5 ft 6 in.
_SMALLER = {
  unit: names.split(units) for unit, units in NAMES['unit pairs'].items()
}
_LARGE = dict(
  zip(
    ('3', '6', '9', '12', '15'),
    ('thousand', 'million', 'billion', 'trillion', 'quadrillion'),
    strict=True,
  )
)
_LARGE_UNIT = re.compile(r'e(3|6|9|12|15)([^\W\d_].*)')
_AREA = re.compile(r'(sq|cu) ?([a-z]{2,4})')
_POWER = re.compile(r'(.*[^\W\d_])([234])')
_HAS_LETTER = re.compile(r'.*[^\W_]|[°%/]')
_MAX_UNIT = 30
_MAX_ARGUMENTS = 40


def _convert(call: Call) -> str:
  """Reads a number, a range or a list, with its unit or pair of units."""
  args = _with_fractions(
    [
      text.replace('&nbsp;', ' ').replace("''", '').strip()
      for text in call.unnamed[:_MAX_ARGUMENTS]
    ]
  )
  if 'number' in call.named.get('disp', '') or call.named.get('disp') == 'unit':
    return LOST  # Shows only half of the converted measure.
  words, position = [], 0
  while position < len(args):
    number = args[position]
    if not wiki_numbers.is_number(number):
      return LOST
    words.append(wiki_numbers.grouped(number))
    follows = args[position + 1] if position + 1 < len(args) else ''
    if follows not in wiki_numbers.RANGES:
      break
    words.append(wiki_numbers.RANGES[follows])
    position += 2
  else:
    return LOST
  unit = follows
  if not unit or len(unit) > _MAX_UNIT or not _HAS_LETTER.match(unit):
    return LOST
  rest = args[position + 2 :]
  text = _with_unit(''.join(words), unit)
  is_pair = len(rest) > 1 and rest[1] in _SMALLER.get(unit, ())
  if is_pair and wiki_numbers.is_number(rest[0]):
    text += ' ' + _with_unit(rest[0], rest[1])
  if call.named.get('adj') == 'mid' and rest and rest[-1][:1] == '-':
    text += ' ' + rest[-1][1:]
  return text


def _with_fractions(args: list[str]) -> list[str]:
  """Joins '2', '+', '1/2' to '2+1/2'."""
  while '+' in args[1:-1]:
    plus = args.index('+', 1)
    args = [
      *args[: plus - 1],
      '+'.join(args[plus - 1 : plus + 2 : 2]),
      *args[plus + 2 :],
    ]
  return args


def _with_unit(number: str, unit: str) -> str:
  """Returns a number with a unit of {{convert}}, in displayed form."""
  number = wiki_numbers.grouped(number)
  if match := _LARGE_UNIT.fullmatch(unit):
    number, unit = f'{number} {_LARGE[match.group(1)]}', match.group(2)
  return number + unit if unit == '%' else f'{number} {_unit(unit)}'


def _unit(code: str) -> str:
  if code in _SYMBOLS:
    return _SYMBOLS[code]
  for sign, words in (('PD/', 'people per '), ('/', 'per ')):
    if code.startswith(sign):
      return words + _unit(code[len(sign) :])
  if match := _AREA.fullmatch(code):
    return ' '.join(match.groups())
  if match := _POWER.fullmatch(code):
    return match.group(1) + '²³⁴'[int(match.group(2)) - 2]
  return code


def _height(call: Call) -> str:
  """Reads {{height|ft=5|in=10}} and {{height|m=1.80}}."""
  parts = [
    _with_unit(call.named[unit], unit)
    for unit in ('m', 'cm', 'ft', 'foot', 'in', 'st', 'lb', 'kg', 'mi', 'km')
    if call.named.get(unit)
  ]
  return ' '.join(parts) or LOST


def _fixed(call: Call) -> str:
  """Reads {{km to mi|5}}: the name contains the unit."""
  number = call.first(0)
  if not wiki_numbers.is_number(number):
    return LOST
  return _with_unit(number, call.name.partition(' to ')[0])


def _gauge(call: Call) -> str:
  """Reads {{track gauge|1435mm}} and {{track gauge|4ft8.5in}}."""
  pairs = re.findall(r'([\d./]+) ?(mm|cm|ft|in|m)(?![a-z])', call.first(0)[:40])
  return ' '.join(_with_unit(*pair) for pair in pairs) or LOST


def _duration(call: Call) -> str:
  """Reads {{duration|1|30|5}} and {{duration|h=1|m=30}}."""
  parts = [call.named.get(name, '') for name in ('h', 'm', 's')]
  if not any(parts):
    parts = call.unnamed
  pairs = zip(parts, ('h', 'min', 's'))
  return ' '.join(f'{n} {unit}' for n, unit in pairs if n.strip('0')) or LOST


READERS = {
  'convert': _convert,
  'height': _height,
  'fixed units': _fixed,
  'gauge': _gauge,
  'duration': _duration,
  'hands': lambda call: f'{call.first(0)} hands',
}
