"""Changes to a served corpus: new texts of blocks, and documents."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Optional


class Document(NamedTuple):
  """An article; its id is unique in the corpus."""

  article_id: str
  title: str
  text: str


class Change(NamedTuple):
  """The changes of one request: all of them are made, or none.

  An added document replaces the document or article with the same id.
  `remove` has the ids of documents or articles.
  """

  add: Sequence[Document] = ()
  remove: Sequence[str] = ()


class Edit(NamedTuple):
  """A new text for a block; None restores the block's own text."""

  block_id: int
  text: Optional[str]


def in_force(changes: Iterable[Change]) -> Change:
  """Returns one change with the effect of all changes, made in their order."""
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
