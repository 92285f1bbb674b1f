"""Replaces MediaWiki's templates by the words that a reader sees.

A note, a box or a list of links has no words. An unknown template becomes HOLE.
"""

from collections.abc import Callable
import re

from realm_tf.wiki import html_text
from realm_tf.wiki import names
from realm_tf.wiki import template_call
from realm_tf.wiki import wiki_dates
from realm_tf.wiki import wiki_measures
from realm_tf.wiki import wiki_numbers
from realm_tf.wiki.holes import HOLE
from realm_tf.wiki.holes import LOST
from realm_tf.wiki.names import NAMES
from realm_tf.wiki.template_call import Call

_LANGUAGE_CODE = re.compile(r'[a-z]{2,3}(-[a-z]+)?')
_FRACTION = re.compile(r'\d+/\d+')


def evaluate(parts: list[str]) -> str:
  """Returns the words of a template, given its parts between bars."""
  call = template_call.parse(parts)
  template = _TEMPLATES.get(call.name)
  if template:
    return template(call)
  if ':' in call.name:
    return _function(parts)
  if call.name.startswith('lang-'):
    return _words(call)
  if _FRACTION.fullmatch(call.name):
    return call.name
  return '' if names.is_invisible(call.name) else HOLE


def _function(parts: list[str]) -> str:
  """Evaluates a parser function, '{{lc:TEXT}}' or '{{#if:x|yes|no}}'."""
  name, _, argument = parts[0].partition(':')
  name, argument = template_call.normal(name), argument.strip()
  values = [argument, *(part.strip() for part in parts[1:]), '', '', '']
  if name in _FUNCTIONS:
    return _FUNCTIONS[name](argument)
  if name in ('#if', '#ifexist'):
    return values[1] if argument else values[2]
  if name == '#ifeq':
    return values[2] if argument == values[1] else values[3]
  if name == '#tag':
    return '' if argument.lower() in html_text.HIDDEN else values[1]
  return '' if names.is_invisible(name) else HOLE


_FUNCTIONS: dict[str, Callable[[str], str]] = {
  'formatnum': wiki_numbers.grouped,
  'lc': str.lower,
  'uc': str.upper,
  'lcfirst': lambda text: text[:1].lower() + text[1:],
  'ucfirst': lambda text: text[:1].upper() + text[1:],
  '#expr': wiki_numbers.sum_of,
  '#formatdate': str,
  '#dateformat': str,
}


def _words(call: Call) -> str:
  """Returns the first argument, else one named text, quote and the like."""
  for name in ('text', 'quote', 'content', 'title'):
    if not call.first(0) and call.named.get(name):
      return call.named[name]
  return call.first(0) or LOST


def _chinese(call: Call) -> str:
  names = ('s', 'c', 't', 'hp', 'p')
  return next(filter(None, map(call.named.get, names)), '') or _words(call)


def _link(call: Call) -> str:
  """Reads {{ill|words|de|title}} and the older {{ill|de|title|words}}."""
  shown = call.named.get('lt') or call.named.get('display', '')
  if not shown and _LANGUAGE_CODE.fullmatch(call.first(0)):
    return call.first(2, 1) or LOST
  return shown or call.named.get('en') or call.first(0) or LOST


def _ship(call: Call) -> str:
  """Reads {{USS|Iowa|BB-61}} and {{ship|RMS|Titanic}}."""
  names = call.unnamed[:2]
  if call.name != 'ship':
    names = [call.name.upper(), *call.unnamed[:1]]
  if call.first(2) == '2':
    names = names[-1:]
  return ' '.join(filter(None, names)) or LOST


def _class(call: Call) -> str:
  """Reads {{sclass|Iowa|battleship}}: Iowa-class battleship."""
  if len(call.unnamed) < 2:
    return LOST
  kind = call.unnamed[1] if call.first(2) not in ('1', '5') else ''
  return f'{call.unnamed[0]}-class {kind}'.strip()


def _pair(call: Call, mark: str) -> str:
  return mark.join(filter(None, call.unnamed[:2])) or LOST


def _formula(call: Call) -> str:
  text = call.joined('') or LOST
  return text if len(text) < 40 and '\\' not in text else LOST


def _coordinates(call: Call) -> str:
  return '' if call.named.get('display') in ('title', 't') else HOLE


def _japanese(call: Call) -> str:
  """Reads {{nihongo|words|script|pronunciation}}; each is optional."""
  return call.first(0, 2, 1) or LOST


_CHARACTERS = names.inverse('characters')
# Section of names.json -> function for its templates.
_READERS: dict[str, Callable[[Call], str]] = {
  'words': _words,
  'second': lambda call: call.first(1) or call.named.get('text') or LOST,
  'last': lambda call: next(filter(None, reversed(call.unnamed)), LOST),
  'ship': _ship,
  'ship class': _class,
  'second or first': lambda call: call.first(1, 0) or LOST,
  'all': lambda call: call.joined(' ') or LOST,
  'joined': lambda call: call.joined('') or LOST,
  'list': lambda call: call.joined(', '),
  'lines': lambda call: '\n'.join(['', *filter(None, call.unnamed), '']),
  'spaced': lambda call: ' '.join(call.unnamed),
  'japanese': _japanese,
  'chinese': _chinese,
  'link': _link,
  'sort name': lambda call: _pair(call, ' '),
  'nuclide': lambda call: _pair(call, '-'),
  'formula': _formula,
  'music': lambda call: _CHARACTERS.get(call.first(0)) or HOLE,
  'coordinates': _coordinates,
  'aged': lambda call: f'aged {call.first(0)}',
  'lost': lambda call: LOST,
  'numbered': lambda call: f'{call.name} {call.first(0)}',
  'patent': lambda call: f'U.S. Patent {wiki_numbers.grouped(call.first(0))}',
  'raised': lambda call: html_text.raised(call.first(0)),
  'angles': lambda call: f'⟨{call.first(0)}⟩',
  'brackets': lambda call: f'[{call.first(0)}]',
  **wiki_numbers.READERS,
  **wiki_measures.READERS,
  **wiki_dates.READERS,
}
_TEMPLATES: dict[str, Callable[[Call], str]] = {
  **dict.fromkeys(_CHARACTERS, lambda call: _CHARACTERS[call.name]),
  **{
    name: reader
    for section, reader in _READERS.items()
    for name in names.split(NAMES['templates'][section])
  },
  **dict.fromkeys(wiki_numbers.SIGNS, wiki_numbers.money),
}
