"""Finds fields of records under the names that different tools use."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from realm_tf import errors


def find(record: Mapping[str, Any], names: Sequence[str]) -> Any:
  """Returns the first value under `names` that is not null; else None.

  Case is ignored if the record has none of `names` exactly.
  """
  for name in names:  # A plain loop is fast; every article passes here.
    value = record.get(name)
    if value is not None:
      return value
  if any(name in record for name in names):
    return None
  fields = lower(record)
  values = (fields.get(name) for name in names)
  return next((value for value in values if value is not None), None)


def lower(record: Mapping[str, Any]) -> dict[str, Any]:
  """Returns a record with its names in lower case."""
  return {key.lower(): value for key, value in record.items()}


def has(record: Mapping[str, Any], names: Iterable[str]) -> bool:
  """Returns whether `record` has one of `names`, even as null."""
  return not {*record, *lower(record)}.isdisjoint(names)


def as_id(where: str, value: Any) -> str:
  """Returns a str or int id as text, '' for null; else UserError."""
  if value is None:
    return ''
  if isinstance(value, (str, int)) and not isinstance(value, bool):
    return str(value)
  raise errors.UserError(
    f'{where} must have a string or an integer as id. Found {value!r:.40}. '
    'Write it as a string.'
  )


def as_text(where: str, name: str, value: Any) -> str:
  """Returns a string, '' for null; else UserError."""
  if value is None or isinstance(value, str):
    return value or ''
  raise errors.UserError(
    f"{where} must have '{name}', a string. Found {value!r:.40}. Correct it."
  )
