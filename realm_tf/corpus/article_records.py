"""Makes articles of records, whoever wrote them.

{"id", "title", "text"}, or other keys of the field -> title, text, id
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from realm_tf import errors
from realm_tf.corpus import record_fields

_IDS = '_id', 'id', 'docid', 'doc_id', 'document_id', 'passage_id', 'pid'
_TITLES = 'title', 'wikipedia_title'
_TEXTS = 'text', 'contents', 'content', 'passage', 'body', 'abstract'


class Keys(NamedTuple):
  """Keys of articles; where one is '', the first known one that is there.

  Attributes:
    article_id: Every record must have it if it is given; so for `text`.
    title: A record without it, or with null, has an empty title.
    text: A string, or a list of paragraphs.
  """

  article_id: str = ''
  title: str = ''
  text: str = ''

  @property
  def names(self) -> set[str]:
    """Names of all keys that are read."""
    names = *self.ids, *self.titles, *self.texts
    return set(names)

  @property
  def ids(self) -> tuple[str, ...]:
    return (self.article_id,) if self.article_id else _IDS

  @property
  def titles(self) -> tuple[str, ...]:
    return (self.title,) if self.title else _TITLES

  @property
  def texts(self) -> tuple[str, ...]:
    return (self.text,) if self.text else _TEXTS


def parse(
  where: str, record: Mapping[str, Any], keys: Keys
) -> tuple[str, str, str]:
  """Returns (title, text, id or '') of an article.

  A null text is an empty one. A first line that is the title is left out: every
  block has it anyway.

  Args:
    where: File and line, for errors.
    record: Keys and values.
    keys: Which of them to read.

  Raises:
    UserError: The record lacks a text, or has something else in its place.
  """
  text = record_fields.find(record, keys.texts)
  if text is None:
    _need(where, record, keys.texts, '--text_key')
  elif isinstance(text, list) and all(isinstance(each, str) for each in text):
    text = '\n'.join(each.rstrip('\n') for each in text)
  text = record_fields.need_text(where, keys.texts[0], text) or ''
  title = record_fields.find(record, keys.titles)
  title = record_fields.need_text(where, keys.titles[0], title) or ''
  if title and text.startswith(title):
    first, _, rest = text.partition('\n')
    text = rest.strip() if rest and first.rstrip() == title else text
  article_id = record_fields.find(record, keys.ids)
  if article_id is None and keys.article_id:
    _need(where, record, keys.ids, '--id_key')
  return title, text, record_fields.as_id(where, article_id)


def _need(where, record, names, flag) -> None:
  if not record_fields.has(record, names):
    is_one = len(names) == 1
    raise errors.UserError(
      f'{where} must have {"" if is_one else "one of "}'
      f'{", ".join(map(repr, names))}; it has '
      f'{", ".join(map(repr, list(record)[:9])) or "nothing"}. An article is '
      f'{{"title": ..., "text": ..., "id": optional}}; {flag} names another '
      'key.'
    )
