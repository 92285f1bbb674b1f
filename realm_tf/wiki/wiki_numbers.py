"""Numbers in MediaWiki's templates: grouped, powers, fractions, money."""

import ast
import decimal
import operator
import re

from realm_tf.wiki import html_text
from realm_tf.wiki import names
from realm_tf.wiki.holes import LOST
from realm_tf.wiki.template_call import Call

_PLAIN = re.compile(r'[-+−–]?\d{4,30}(\.\d*)?')
_SCIENTIFIC = re.compile(r'([-+−]?[\d.,]{1,30})[eE]([-+−]?\d{1,3})')
_FRACTION = re.compile(r'([-+−]?\d+)[+ -](\d+)//?(\d+)')
_THOUSAND = re.compile(r'(?<=\d)(?=(?:\d{3})+$)')
_RATIO = re.compile(r'([-+−]?\d+)//?(\d+)')
_NUMBER = re.compile(r'[-+−–±~]?[\d.,][\d., \u2009]*')
# Word between two numbers of a range -> displayed text.
RANGES = {
  word: f'{shown} '.replace('– ', '–')
  for shown, words in (
    ('–', '- – − -- &ndash; &#8211;'),
    (' to', 'to to(-) to(–) to-'),
    (' and', 'and and(-) and(–) &'),
    (' or', 'or'),
    (' by', 'by'),
    (' ×', 'x × * xx x- by(x) x(x) ×(×)'),
    (' ±', '+/- ± +/− &plusmn;'),
    (',', ','),
  )
  for word in words.split()
}
_SUMS = {
  ast.Add: operator.add,
  ast.Sub: operator.sub,
  ast.Mult: operator.mul,
  ast.Div: operator.truediv,
}
_SUM = re.compile(r'[\d\s.()+*/-]{1,60}', re.ASCII)
# Name of a currency -> its sign.
SIGNS = names.inverse('currencies')
_LARGE = {
  'c': ' crore',
  'l': ' lakh',
  'm': ' million',
  'b': ' billion',
  'k': ',000',
  't': ' trillion',
}


def grouped(number: str) -> str:
  """Returns a number in displayed form: '1300' is '1,300'.

  '1.2e6' is '1.2×10⁶', '5+1/2' is '5 1/2', '-5' is '−5'; other text stays.
  """
  number = number.strip().replace('&minus;', '−')
  if match := _SCIENTIFIC.fullmatch(number):
    return f'{grouped(match.group(1))}×10{html_text.raised(match.group(2))}'
  if match := _FRACTION.fullmatch(number):
    whole, over, under = match.groups()
    return f'{_signed(whole)} {over}/{under}'
  if match := _RATIO.fullmatch(number):
    return f'{_signed(match.group(1))}/{match.group(2)}'
  if not _PLAIN.fullmatch(number):
    return _signed(number)
  whole, dot, rest = _signed(number).partition('.')
  return _THOUSAND.sub(',', whole) + dot + rest


def is_number(text: str) -> bool:
  """Returns whether `text` is one number that `grouped` reads."""
  text = text.replace('&nbsp;', ' ').strip()
  kinds = (_NUMBER, _SCIENTIFIC, _FRACTION, _RATIO)
  return len(text) <= 40 and any(kind.fullmatch(text) for kind in kinds)


def sum_of(text: str) -> str:
  """Returns the value of '2 * (3+4)'; LOST for other text."""
  text = text.strip().replace('−', '-')
  if not _SUM.fullmatch(text):
    return LOST
  try:
    value = _value(ast.parse(text, mode='eval').body)
  except (ArithmeticError, SyntaxError, ValueError):
    return LOST
  return f'{value:.12g}'.replace('-', '−')


def _value(node: ast.AST) -> float:
  if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
    return float(node.value)
  if isinstance(node, ast.BinOp) and type(node.op) in _SUMS:
    left, right = _value(node.left), _value(node.right)
    return _SUMS[type(node.op)](left, right)
  if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
    return -_value(node.operand)
  raise ValueError('Not a sum.')


def _signed(number: str) -> str:
  return '−' + number[1:] if number[:1] in ('-', '–') else number


def _val(call: Call) -> str:
  """Reads {{val|5.2|0.3|e=3|u=km}}: 5.2±0.3×10³ km."""
  value, *rest = call.unnamed or ['']
  if not is_number(value):
    return LOST
  text = grouped(value)
  if rest and rest[0] in RANGES and len(rest) > 1:
    text += RANGES[rest[0]] + grouped(rest[1])
    rest = rest[2:]
  errors = [error for error in rest if error]
  if errors and errors[0][:1] == '(':
    text += errors[0]
  elif len(errors) == 1:
    text += f'±{errors[0].lstrip("±")}'
  elif errors:
    text += f'+{errors[0].lstrip("+")}−{errors[1].lstrip("-−")}'
  named = call.named
  if named.get('e'):
    text += f'×10{html_text.raised(named["e"])}'
  unit = named.get('u') or named.get('ul') or ''
  divisor = named.get('up') or named.get('upl') or ''
  unit = f'{unit}/{divisor}' if divisor else unit
  if unit and not unit.startswith(('%', '°', '/')):
    unit = ' ' + unit
  return named.get('p', '') + text + named.get('s', '') + unit


def _fraction(call: Call) -> str:
  """Reads {{frac|3|1|2}}: 3 1/2, {{frac|1|2}}: 1/2, {{frac|3}}: 1/3."""
  numbers = [number for number in call.unnamed if number]
  if len(numbers) == 3:
    return '{} {}/{}'.format(*numbers)
  if len(numbers) == 2:
    return '/'.join(numbers)
  return f'1/{numbers[0]}' if numbers else LOST


def _percentage(call: Call) -> str:
  value, whole, digits = (*call.unnamed, '', '', '')[:3]
  if not whole:
    return f'{value}%' if value else LOST
  if digits not in ('', *'0123456789'):
    return LOST
  step = decimal.Decimal(1).scaleb(-int(digits or 0))
  try:
    value, whole = (
      decimal.Decimal(number.replace(',', '')) for number in (value, whole)
    )
    # MediaWiki rounds 12.5 to 13, and Python's format to 12.
    part = (100 * value / whole).quantize(step, decimal.ROUND_HALF_UP)
  except ArithmeticError:  # Decimal's errors are subclasses.
    return LOST
  return f'{part:f}%' if part.is_finite() else LOST


def _ordinal(call: Call) -> str:
  number = call.first(0)
  if not number.isdecimal():
    return LOST
  ending = {'1': 'st', '2': 'nd', '3': 'rd'}.get(number[-1], 'th')
  return number + ('th' if number[-2:-1] == '1' else ending)


def _power(call: Call) -> str:
  """Reads {{e|6}}: ×10⁶, and {{10^|6}}: 10⁶."""
  sign = '' if call.name == '10^' else '×'
  return f'{sign}10{html_text.raised(call.first(0))}' if call.unnamed else LOST


def money(call: Call) -> str:
  """Reads {{US$|5|...}}, named after a currency, and {{INRConvert|5|c}}."""
  large = call.first(1).lower() if 'convert' in call.name else ''
  return SIGNS[call.name] + grouped(call.first(0)) + _LARGE.get(large, '')


def _currency(call: Call) -> str:
  """Reads {{currency|5|usd}}."""
  code = (call.first(1) or call.named.get('type', '')).lower()
  if code in SIGNS:
    return money(Call(code, call.unnamed[:1], {}))
  return f'{grouped(call.first(0))} {code.upper()}'.strip() or LOST


READERS = {
  'number': lambda call: grouped(call.first(0)) or LOST,
  'value': _val,
  'fraction': _fraction,
  'percentage': _percentage,
  'ordinal': _ordinal,
  'power': _power,
  'currency': _currency,
  'unspaced': lambda call: ''.join(call.unnamed),
}
