"""Measures in MediaWiki's templates: '{{convert|5|ft|6|in|m}}' is '5 ft 6 in'.

The measure stays as its author wrote it; its conversion, which is computed,
goes.
"""

import re

from realm_tf.wiki import wiki_numbers
from realm_tf.wiki.holes import LOST
from realm_tf.wiki.template_call import Call
from realm_tf.wiki.template_call import by_name
from realm_tf.wiki.template_call import split_names

# Pairs of units that make one measure: 5 ft 6 in.
_PAIRS = {
  *((foot, inch) for foot in ('ft', 'foot') for inch in ('in', 'inch')),
  *((pound, 'oz') for pound in ('lb', 'lbs')),
  *((stone, 'lb') for stone in ('st', 'stone')),
  *(('yd', unit) for unit in ('ft', 'in')),
  *(('mi', unit) for unit in ('ft', 'yd', 'ch', 'chain', 'furlong')),
  *(('furlong', unit) for unit in ('yd', 'ch')),
  *(('LT', unit) for unit in ('cwt', 'long cwt')),
}
# What is displayed for a code; other codes are displayed as they are.
_SYMBOLS = {
  code: shown
  for shown, codes in (
    ('°C', 'C C-change degC'),
    ('°F', 'F F-change degF'),
    ('°', 'deg'),
    ('long tons', 'LT'),
    ('short tons', 'ST'),
    ('tonnes', 'MT t'),
    ('lb', 'lbs'),
    ('knots', 'kn kt knot'),
    ('km/h', 'kph kmh'),
    ('US gal', 'USgal U.S.gal usgal'),
    ('imperial gal', 'impgal imp.gal'),
    ('acre-ft', 'acre.ft acreft acre·ft'),
    ('ft⋅lbf', 'ftlbf'),
    ('mpg', 'mpgus mpgUS mpg-us mpgimp mpg-imp'),
    ('hands', 'hand'),
    ('nautical miles', 'nmi'),
    ('light-years', 'ly'),
    ('US fl oz', 'USoz U.S.floz USfloz'),
    ('troy oz', 'ozt'),
    ('barrels', 'bbl oilbbl'),
    ('chains', 'ch chain'),
    ('fathoms', 'fathom'),
    ('acres', 'acre'),
  )
  for code in codes.split()
}
_LARGE = {
  '3': 'thousand',
  '6': 'million',
  '9': 'billion',
  '12': 'trillion',
  '15': 'quadrillion',
}
_LARGE_UNIT = re.compile(r'e(3|6|9|12|15)([^\W\d_].*)')
_AREA = re.compile(r'(sq|cu) ?([a-z]{2,4})')
_POWER = re.compile(r'(.*[^\W\d_])([234])')
_HAS_LETTER = re.compile(r'.*[^\W_]|[°%/]')
_MAX_UNIT = 30
_MAX_ARGUMENTS = 40


def _convert(call: Call) -> str:
  """Reads a number, or a range, or a list, and its unit or pair of units."""
  args = _with_fractions([*map(_clean, call.unnamed[:_MAX_ARGUMENTS])])
  if 'number' in call.named.get('disp', '') or call.named.get('disp') == 'unit':
    return LOST  # Half of the converted measure.
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
  text = ''.join(words)
  rest = args[position + 2 :]
  text = with_unit(text, unit)
  if (
    len(rest) > 1
    and (unit, rest[1]) in _PAIRS
    and wiki_numbers.is_number(rest[0])
  ):
    text += ' ' + with_unit(wiki_numbers.grouped(rest[0]), rest[1])
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


def with_unit(number: str, unit: str) -> str:
  """Returns a number with a unit of {{convert}} as it is displayed."""
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


def _clean(text: str) -> str:
  return text.replace('&nbsp;', ' ').replace("''", '').strip()


def _height(call: Call) -> str:
  """Reads {{height|ft=5|in=10}} and {{height|m=1.80}}."""
  parts = [
    with_unit(wiki_numbers.grouped(call.named[unit]), unit)
    for unit in split_names('m, cm, ft, foot, in, st, lb, kg, mi, km')
    if call.named.get(unit)
  ]
  return ' '.join(parts) or LOST


def _fixed(call: Call) -> str:
  """Reads {{km to mi|5}}, whose name has the unit."""
  unit = call.name.partition(' to ')[0].replace('convert/', '')
  number = call.first(0)
  if not wiki_numbers.is_number(number):
    return LOST
  return with_unit(wiki_numbers.grouped(number), unit)


def _gauge(call: Call) -> str:
  """Reads {{track gauge|1435mm}} and {{track gauge|4ft8.5in}}."""
  pairs = re.findall(r'([\d./]+) ?(mm|cm|ft|in|m)(?![a-z])', call.first(0)[:40])
  return (
    ' '.join(
      with_unit(wiki_numbers.grouped(number), unit) for number, unit in pairs
    )
    or LOST
  )


def _duration(call: Call) -> str:
  """Reads {{duration|1|30|5}} and {{duration|h=1|m=30}}."""
  names = ('h', 'm', 's')
  parts = [call.named.get(name, '') for name in names]
  if not any(parts):
    parts = (call.unnamed + ['', '', ''])[:3]
  return (
    ' '.join(
      f'{part} {unit}'
      for part, unit in zip(parts, ('h', 'min', 's'))
      if part.strip('0')
    )
    or LOST
  )


TEMPLATES = {
  **by_name(_convert, 'convert, cvt, conv, converted, convertx, convinfobox'),
  **by_name(_height, 'height, weight, infobox height'),
  **by_name(
    _fixed,
    'km to mi, mi to km, m to ft, ft to m, kg to lb, lb to kg, in to mm',
    'in to cm, cm to in, mm to in, km2 to sqmi, sqmi to km2, mph to km/h',
    'km/h to mph, c to f, f to c, ha to acre, acre to ha, nmi to km',
  ),
  **by_name(_gauge, 'track gauge, railgauge, rail gauge, trackgauge, gauge'),
  **by_name(_duration, 'duration'),
  **by_name(lambda call: f'{call.first(0)} hands', 'hands, hand'),
}
