"""Articles, parsed from {"id", "title", "text"} and other tools' records."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from realm_tf import errors
from realm_tf.corpus import record_fields

_IDS = '_id', 'id', 'docid', 'doc_id', 'document_id', 'passage_id', 'pid'
_TITLES = 'title', 'wikipedia_title'
_TEXTS = 'text', 'contents', 'content', 'passage', 'body', 'abstract'


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
  title is an empty one. The text is a string or a list of paragraphs.
  """

  article_id: str = ''
  title: str = ''
  text: str = ''

  @property
  def ids(self) -> Sequence[str]:
    return (self.article_id,) if self.article_id else _IDS

  @property
  def titles(self) -> Sequence[str]:
    return (self.title,) if self.title else _TITLES

  @property
  def texts(self) -> Sequence[str]:
    return (self.text,) if self.text else _TEXTS

  @property
  def names(self) -> set[str]:
    return {*self.ids, *self.titles, *self.texts}


def parse(where: str, record: Mapping[str, Any], keys: Keys) -> Article:
  """Returns the article of a record; UserError if a field is unusable.

  A null text is an empty one. A first line that repeats the title is dropped,
  because every block begins with the title.
  """
  text = record_fields.find(record, keys.texts)
  if text is None:
    _need(where, record, keys.texts, '--text_key')
  elif isinstance(text, list) and all(isinstance(each, str) for each in text):
    text = '\n'.join(each.rstrip('\n') for each in text)
  text = record_fields.as_text(where, keys.texts[0], text)
  title = record_fields.find(record, keys.titles)
  title = record_fields.as_text(where, keys.titles[0], title)
  if title and text.startswith(title):
    first, _, rest = text.partition('\n')
    text = rest.strip() if rest and first.rstrip() == title else text
  article_id = record_fields.find(record, keys.ids)
  if article_id is None and keys.article_id:
    _need(where, record, keys.ids, '--id_key')
  return Article(title, text, record_fields.as_id(where, article_id))


def _need(
  where: str, record: Mapping[str, Any], names: Sequence[str], flag: str
) -> None:
  if not record_fields.has(record, names):
    raise errors.UserError(
      f'{where} must have {"one of " * (len(names) > 1)}'
      f'{", ".join(map(repr, names))}. Found '
      f'{", ".join(map(repr, list(record)[:9])) or "nothing"}. An article is '
      f'{{"title": ..., "text": ..., "id": optional}}; {flag} names another '
      'key.'
    )
