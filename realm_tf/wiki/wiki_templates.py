"""What MediaWiki's templates leave in a sentence.

A template that has words or a number in its arguments leaves them. A note, a
box or a list of links leaves nothing. Any other may have been a word: HOLE.
"""

from collections.abc import Callable
import re

from realm_tf.wiki import html_text
from realm_tf.wiki import template_call
from realm_tf.wiki import template_names
from realm_tf.wiki import wiki_dates
from realm_tf.wiki import wiki_measures
from realm_tf.wiki import wiki_numbers
from realm_tf.wiki.holes import HOLE
from realm_tf.wiki.holes import LOST
from realm_tf.wiki.template_call import Call
from realm_tf.wiki.template_call import by_name

_LANGUAGE_CODE = re.compile(r'[a-z]{2,3}(-[a-z]+)?')
_FRACTION = re.compile(r'\d+/\d+')


def evaluate(parts: list[str]) -> str:
  """Returns the words of the template whose parts between bars are `parts`."""
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
  return '' if template_names.is_invisible(call.name) else HOLE


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
  return '' if template_names.is_invisible(name) else HOLE


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
  """Returns the first argument, or the one that is called its text."""
  for name in ('text', 'quote', 'content', 'title'):
    if not call.first(0) and call.named.get(name):
      return call.named[name]
  return call.first(0) or LOST


def _second(call: Call) -> str:
  return call.first(1) or call.named.get('text', '') or LOST


def _last(call: Call) -> str:
  return next(filter(None, reversed(call.unnamed)), LOST)


def _second_or_first(call: Call) -> str:
  return call.first(1, 0) or LOST


def _all(call: Call) -> str:
  return ' '.join(filter(None, call.unnamed)) or LOST


def _joined(call: Call) -> str:
  return ''.join(call.unnamed) or LOST


def _list(call: Call) -> str:
  return ', '.join(filter(None, call.unnamed))


def _lines(call: Call) -> str:
  return '\n'.join(['', *filter(None, call.unnamed), ''])


def _japanese(call: Call) -> str:
  """Reads {{nihongo|words|script|pronunciation}}; any may lack."""
  return call.first(0, 2, 1) or LOST


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


def _sort_name(call: Call) -> str:
  return ' '.join(filter(None, call.unnamed[:2])) or LOST


def _nuclide(call: Call) -> str:
  return '-'.join(filter(None, call.unnamed[:2])) or LOST


def _formula(call: Call) -> str:
  text = _joined(call)
  return text if len(text) < 40 and '\\' not in text else LOST


def _coordinates(call: Call) -> str:
  return '' if call.named.get('display') in ('title', 't') else HOLE


def _music(call: Call) -> str:
  return template_names.CHARACTERS.get(call.first(0)) or HOLE


def _raised(call: Call) -> str:
  return html_text.raised(call.first(0))


def _quoted(left: str, right: str):
  return lambda call: f'{left}{call.first(0)}{right}'


def _constant(text: str):
  return lambda call: text


_TEMPLATES = {
  **{
    name: _constant(shown) for name, shown in template_names.CHARACTERS.items()
  },
  **by_name(_words, *template_names.FIRST),
  **by_name(_second, *template_names.SECOND),
  **by_name(_last, *template_names.LAST),
  **by_name(_ship, *template_names.SHIPS),
  **by_name(_class, 'sclass, sclass2, sclass-, ship class, sclass/new'),
  **by_name(
    _second_or_first, 'sort, w, wp, wikt, sortkey, wiktlink, color, colour'
  ),
  **by_name(_all, 'linktext, lt, typo'),
  **by_name(_joined, 'not a typo, notatypo, proper name, chem, chem2, ce'),
  **by_name(
    _list, 'hlist, flatlist, cslist, comma separated entries, flat list'
  ),
  **by_name(
    _lines,
    'ubl, unbulleted list, vunblist, bulleted list, blist, ordered list, olist',
    'plain list',
  ),
  **by_name(lambda call: ' '.join(call.unnamed), 'sic, sic!'),
  **by_name(_japanese, 'nihongo, nihongo2, nihongo3, nihongo krt, korean'),
  **by_name(_chinese, 'zh, lang-zh, chinese, zh-cn'),
  **by_name(
    _link,
    'ill, interlanguage link, link-interwiki, illm, interlanguage link multi',
  ),
  **by_name(_sort_name, 'sortname, sort name'),
  **by_name(_nuclide, 'nuclide, nuclide2, simplenuclide, simplenuclide2'),
  **by_name(_formula, 'math, mvar, bigmath, var math'),
  **by_name(_music, 'music'),
  **by_name(_coordinates, 'coord, coords, coordinates'),
  **by_name(lambda call: f'aged {call.first(0)}', 'aged'),
  **by_name(_constant(LOST), 'ipa, ipa link, ipalink'),
  **by_name(lambda call: f'{call.name} {call.first(0)}', 'vol., p., pp., no.'),
  **by_name(
    lambda call: f'U.S. Patent {wiki_numbers.grouped(call.first(0))}',
    'us patent',
  ),
  **by_name(_raised, 'sup, superscript'),
  **by_name(_quoted('⟨', '⟩'), 'angbr, angle bracket, angbr ipa'),
  **by_name(_quoted('[', ']'), 'bracket, brackets, sqbrackets, interp'),
  **wiki_numbers.TEMPLATES,
  **wiki_measures.TEMPLATES,
  **wiki_dates.TEMPLATES,
}
