"""Articles, parsed from {"id", "title", "text"} and other tools' records."""

from collections.abc import Mapping, Sequence
import os
from typing import Any, NamedTuple

from realm_tf import errors
from realm_tf import json_text
from realm_tf.corpus import record_fields

# Our field -> its names in records.
_NAMES = {
  'article_id': record_fields.ARTICLE_ID,
  'title': record_fields.TITLE,
  'text': record_fields.TEXT,
}
_PARAGRAPHS = list[str | list[str]]
# In the metadata of a document.
_SOURCES = 'title', 'source', 'file_name', 'file_path', 'name'


class Article(NamedTuple):
  """One document of the knowledge corpus.

  Attributes:
    text: One paragraph a line.
    article_id: Id in the source, else the article's number, from 0.
    is_wikitext: Whether `text` still has MediaWiki's markup.
    links: Titles that the source links to, without the links in wikitext.
  """

  title: str
  text: str
  article_id: str
  is_wikitext: bool = False
  links: tuple[str, ...] = ()


class Keys(NamedTuple):
  """Keys to read articles by; '' means the first known key in the record.

  A given `article_id` or `text` must be in every record. A missing or null
  title is an empty one. The text is a string or a list of paragraphs, each a
  string or a list of sentences.
  """

  article_id: str = ''
  title: str = ''
  text: str = ''

  def of(self, field: str) -> Sequence[str]:
    """Returns the names of a field of this class."""
    given = getattr(self, field)
    return (given,) if given else _NAMES[field]

  @property
  def names(self) -> set[str]:
    own = {name for field in self._fields for name in self.of(field)}
    return {*own, *record_fields.ARTICLE_GROUPS, *record_fields.METADATA}


def parse(where: str, record: Mapping[str, Any], keys: Keys) -> Article:
  """Returns the article of a record; UserError if a field is unusable.

  A null text is an empty one. A first line that repeats the title is dropped,
  because every block begins with the title.
  """
  ids, titles, texts = map(keys.of, Keys._fields)
  text = record_fields.find(record, texts)
  if text is None:
    _need(where, record, texts, '--text_key')
  elif isinstance(text, list) and json_text.holds(text, _PARAGRAPHS):
    is_cut = any(str(each)[:1] == ' ' for each in text[1:])  # In sentences.
    parts = (
      part.rstrip('\n')
      if isinstance(part, str)
      else ' '.join(map(str.strip, part))
      for part in ([text] if is_cut else text)
    )
    text = '\n'.join(parts)
  text = '' if text is None else record_fields.text(where, texts[0], text)
  title = record_fields.find(record, titles)
  if title is None and not keys.title:
    found = record_fields.find(record, record_fields.METADATA)
    if isinstance(found, dict):
      found = record_fields.find(found, _SOURCES)
    if isinstance(found, str):  # Mostly the path of a file.
      title = os.path.splitext(os.path.basename(found.rstrip('/')))[0]
  title = '' if title is None else record_fields.text(where, titles[0], title)
  if title and text.startswith(title):
    first, _, rest = text.partition('\n')
    text = rest.strip() if rest and first.rstrip() == title else text
  article_id = record_fields.find(record, ids)
  if article_id is None and keys.article_id:
    _need(where, record, ids, '--id_key')
  return Article(title, text, record_fields.text_id(where, article_id))


def record(article: Article) -> dict[str, str]:
  """Returns a record that `parse` makes the article of, without its links."""
  text = article.text
  if article.title:  # `parse` drops a first line that repeats it.
    text = f'{article.title}\n{text}'
  return {'id': article.article_id, 'title': article.title, 'text': text}


def _need(
  where: str, record: Mapping[str, Any], names: Sequence[str], flag: str
) -> None:
  """Raises UserError if `record` has none of `names`, not even as null."""
  if {*record, *record_fields.lower(record)}.isdisjoint(names):
    raise errors.UserError(
      f'{where} must have {"one of " * (len(names) > 1)}'
      f'{", ".join(map(repr, names))}. Found '
      f'{", ".join(map(repr, list(record)[:9])) or "nothing"}. An article is '
      f'{{"title": ..., "text": ..., "id": optional}}; {flag} names another '
      'key.'
    )
