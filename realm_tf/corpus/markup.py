"""Removes HTML from the texts of records.

A text has HTML if each of its tags for words that is opened is closed. So
'a < b', 'vector<int>' and a text about the tag <b> stay.
"""

import re

from realm_tf.corpus import wikitext

_EMPTY = frozenset('br col hr img input link meta wbr'.split())
_LINE_TAGS = wikitext.LINE_TAGS.union(
  'article aside body figcaption figure footer form header head html main nav '
  'section title'.split()
)
_HIDDEN = re.compile(
  r'<(script|style|noscript)\b[^<>]*>.*?</\1\s*>|<!--.*?-->',
  re.IGNORECASE | re.DOTALL,
)
_MARKDOWN = re.compile(
  r'^#{1,6} \w|\*\*\w[^*\n]*\*\*|\[[^\[\]\n]+\]\(\w[^()\s]*\)', re.MULTILINE
)


def plain_text(text: str) -> str:
  """Returns `text` without tags, scripts and references such as '&amp;'."""
  if '<' in text:
    visible = _HIDDEN.sub('', text)
    if has_html(visible):
      text = wikitext.TAG.sub(_mark, wikitext.raise_exponents(visible))
      text = '\n'.join(filter(None, map(str.strip, text.split('\n'))))
  return wikitext.unescape(text)


def has_html(text: str) -> bool:
  """Returns whether the tags are HTML's, and closed in order."""
  opened: list[str] = []
  num_closed = 0
  for end, name, _ in wikitext.TAG.findall(text):
    name = name.lower()
    if name in _EMPTY or name not in wikitext.WORD_TAGS | _LINE_TAGS:
      continue
    if not end:
      opened.append(name)
      continue
    num_closed += 1
    while opened and opened[-1] != name and opened[-1] in _LINE_TAGS:
      opened.pop()
    if not opened or opened.pop() != name:
      return False
  return num_closed > 0 and _LINE_TAGS.issuperset(opened)


def has_marks(text: str) -> bool:
  """Returns whether a plain text has marks of Markdown."""
  return bool(_MARKDOWN.search(text))


def _mark(match: re.Match) -> str:
  name = match[2].lower()
  if name in _LINE_TAGS:
    return '\n'
  return '' if name in wikitext.WORD_TAGS else match.group()
