"""Turns tags of HTML and MediaWiki into words; 'a<b' and 'vector<int>' stay."""

import html
import re

from realm_tf.wiki import names
from realm_tf.wiki.names import NAMES

_TAGS = {
  kind: frozenset(names.split(tags)) for kind, tags in NAMES['tags'].items()
}
# The content of hidden tags is no text of the article. Formulas belong to a
# sentence, but are no words.
HIDDEN, FORMULAS = _TAGS['hidden'], _TAGS['formulas']
_KNOWN = frozenset().union(*_TAGS.values())
TAG = re.compile(r'<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[\s/][^<>]*)?)>')
_SUPERSCRIPT = re.compile(
  r'<sup(?:\s[^<>]*)?>([^<>\n]{1,40})</sup\s*>', re.IGNORECASE
)
_RAISED = str.maketrans('0123456789+-−–=()', '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾')
_NUMBER = re.compile(r'[\d+−–-]+')
_FORMULA = re.compile(r'[^\W\d_]|.*[\d+=−-].*')
_MARKUP = re.compile(r'[\[{|]')
_REFERENCE = re.compile(r'&(?:#?\w{1,16});')


def unescape(text: str) -> str:
  """Replaces '&nbsp;', '&#33;' and, as many are escaped twice, '&amp;lt;'."""
  for _ in range(2):
    if '&' not in text:
      break
    text = _REFERENCE.sub(lambda match: html.unescape(match.group()), text)
  return text


def is_tag(match: re.Match) -> bool:
  """Returns whether a match of TAG is a tag: '<b>', not 'a <b and c> d'."""
  _, name, attributes = match.groups()
  if name.lower() not in _KNOWN:
    return False
  return len(name) > 1 or '=' in attributes or not attributes.strip(' /')


def value_of(match: re.Match) -> str:
  """Returns the replacement of a match of TAG: a new line or nothing."""
  if not is_tag(match):
    return match.group()
  return '\n' if match.group(2).lower() in _TAGS['lines'] else ''


def strip_tags(text: str) -> str:
  """Returns `text` without tags; exponents become superscript characters."""
  if '<' not in text:
    return text
  return TAG.sub(value_of, raise_exponents(text))


def raise_exponents(text: str) -> str:
  """Turns '10<sup>6</sup>' into '10⁶', and '18<sup>th</sup>' into '18th'."""
  return _SUPERSCRIPT.sub(lambda match: raised(match.group(1)), text)


def raised(text: str) -> str:
  """Returns an exponent in plain text: '⁶', '^n', 'th'."""
  text = unescape(text).replace("''", '').strip()
  if _NUMBER.fullmatch(text):
    return text.translate(_RAISED)
  if _MARKUP.search(text) or not _FORMULA.fullmatch(text):
    return text
  return f'^{text}' if len(text) == 1 else f'^({text})'
