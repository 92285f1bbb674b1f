"""The fields of `POST /api/documents` -> a checked change."""

from typing import Any

from realm_tf import errors
from realm_tf.live import changes
from realm_tf.serving import request_body

MAX_DOCUMENTS = 64  # Added and removed documents of a request together.
MAX_CHARACTERS = 100_000  # Limit of a text.
_SHORT = 1000  # Limit of an id or a title, in characters.


def parse(fields: dict[str, Any]) -> changes.Change:
  """Returns the change in 'add' and 'remove'; RequestError if it is wrong."""
  add, remove = fields['add'], fields['remove']
  if not isinstance(add, list) or not isinstance(remove, list):
    raise errors.RequestError('"add" and "remove" must be lists.')
  number = len(add) + len(remove)
  if not 1 <= number <= MAX_DOCUMENTS:
    raise errors.RequestError(
      f'A request must have 1 to {MAX_DOCUMENTS} documents. Found {number}.'
    )
  change = changes.Change(
    [_document(row) for row in add],
    [request_body.check_text(i, 'An id', _SHORT) for i in remove],
  )
  ids = [document.article_id for document in change.add] + [*change.remove]
  if len(set(ids)) < len(ids):
    raise errors.RequestError('The ids of a request must be different.')
  return change


def _document(row: Any) -> changes.Document:
  if not isinstance(row, dict) or set(row) != {'id', 'title', 'text'}:
    raise errors.RequestError(
      'A document must have "id", "title" and "text", and nothing else.'
    )
  return changes.Document(
    request_body.check_text(row['id'], 'An id', _SHORT),
    request_body.check_text(row['title'], 'A title', _SHORT),
    request_body.check_text(row['text'], 'A text', MAX_CHARACTERS),
  )
