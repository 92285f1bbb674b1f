"""Titles that an article links to, from markup of MediaWiki or WikiExtractor.

Titles of other namespaces and other wikis come, too: a corpus has no article of
such a title, so they lead nowhere.
"""

import re
from urllib import parse

from realm_tf.wiki import html_text

# [[Title]], [[Title|words]] and [[Title#Section|words]].
_LINK = re.compile(r'\[\[:?([^\[\]|#<>{}\n]+)(?=[|#]|\]\])')
# What WikiExtractor --links writes. It escapes the title as in an address.
_ANCHOR = re.compile(r'<a href="([^"<>]*)">|</a>')


def normal(title: str) -> str:
  """Returns the one spelling of a title that MediaWiki takes for the same."""
  title = ' '.join(title.replace('_', ' ').split())
  return title[:1].upper() + title[1:]


def in_markup(markup: str) -> list[str]:
  """Returns the normal titles that wikitext links to, in order."""
  return [normal(html_text.unescape(title)) for title in _LINK.findall(markup)]


def cut_anchors(text: str) -> tuple[str, tuple[str, ...]]:
  """Returns WikiExtractor's text with links replaced by their words.

  Returns:
    The text, and the titles that it links to, not yet normal.
  """
  if '<a href=' not in text:
    return text, ()
  titles = (parse.unquote(href) for href in _ANCHOR.findall(text) if href)
  return _ANCHOR.sub('', text), tuple(
    title.partition('#')[0] for title in titles
  )
