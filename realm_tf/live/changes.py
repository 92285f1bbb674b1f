"""Changes of a corpus that is served: texts of its blocks, and documents."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Optional


class Document(NamedTuple):
  """An article: its id, title and text; no id occurs twice in a corpus."""

  article_id: str
  title: str
  text: str


class Change(NamedTuple):
  """What one request changes, as a whole or not at all.

  Attributes:
    add: Documents; a document replaces the document or article of its id.
    remove: Ids of documents or articles.
  """

  add: Sequence[Document] = ()
  remove: Sequence[str] = ()


class Edit(NamedTuple):
  """Another text for a block; None restores the block's own text."""

  block_id: int
  text: Optional[str]


def in_force(changes: Iterable[Change]) -> Change:
  """Returns one change that has the effect of all changes, in their order."""
  documents: dict[str, Document] = {}
  removed: dict[str, None] = {}
  for change in changes:
    for article_id in change.remove:
      documents.pop(article_id, None)
      removed[article_id] = None
    for document in change.add:
      documents.pop(document.article_id, None)
      documents[document.article_id] = document
  return Change([*documents.values()], [*removed])
