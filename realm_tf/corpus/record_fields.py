"""Fields of records, under the names that different tools use.

Loads no TensorFlow: the processes that render Wikipedia import this file.
"""

from collections.abc import Collection, Mapping
from typing import Any

from realm_tf import errors


def find(record: Mapping[str, Any], names: Collection[str]) -> Any:
  """Returns the first value under `names` that is not null; else None.

  Case is ignored if the record has none of `names` exactly.
  """
  if record.keys().isdisjoint(names):
    record = lower(record)
  for name in names:  # A plain loop is fast; every article passes here.
    value = record.get(name)
    if value is not None:
      return value
  return None


def lower(record: Mapping[str, Any]) -> dict[str, Any]:
  """Returns a record with its names in lower case."""
  return {key.lower(): value for key, value in record.items()}


def text_id(where: str, value: Any) -> str:
  """Returns a str or int id as text, '' for null; else UserError."""
  if value is None:
    return ''
  if isinstance(value, (str, int)) and not isinstance(value, bool):
    return str(value)
  raise errors.UserError(
    f'{where} must have a string or an integer as id. Found {value!r:.40}. '
    'Write it as a string.'
  )


def text(where: str, name: str, value: Any) -> str:
  """Returns a string; else UserError, by the name of its field."""
  if isinstance(value, str):
    return value
  raise errors.UserError(
    f"{where} must have '{name}', a string. Found {value!r:.40}. Correct it."
  )
