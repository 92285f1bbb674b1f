"""Titles that an article links to, in wikitext.

Titles of other namespaces and other wikis come, too: a corpus has no article of
such a title, so they lead nowhere.
"""

import re

from realm_tf.wiki import html_text

# [[Title]], [[Title|words]] and [[Title#Section|words]].
_LINK = re.compile(r'\[\[:?([^\[\]|#<>{}\n]+)(?=[|#]|\]\])')


def normal(title: str) -> str:
  """Returns the one spelling of a title that MediaWiki takes for the same."""
  title = ' '.join(title.replace('_', ' ').split())
  return title[:1].upper() + title[1:]


def in_markup(markup: str) -> list[str]:
  """Returns the normal titles that wikitext links to, in order."""
  return [normal(html_text.unescape(title)) for title in _LINK.findall(markup)]
