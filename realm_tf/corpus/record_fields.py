"""Finds the fields of records, which each tool names in its own way."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from realm_tf import errors


def find(record: Mapping[str, Any], names: Sequence[str]) -> Any:
  """Returns the value of the first of `names` that has one; else None.

  Capital letters of the record's names count only if one of `names` is there.
  """
  for name in names:  # A loop: each article of a corpus comes here.
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
  """Returns whether `record` has one of `names`, if only as null."""
  return not {*record, *lower(record)}.isdisjoint(names)


def as_id(where: str, value: Any) -> str:
  """Returns an id as text, '' for null; UserError unless it is str or int."""
  if value is None:
    return ''
  if isinstance(value, (str, int)) and not isinstance(value, bool):
    return str(value)
  raise errors.UserError(
    f'{where} must have a string or an integer as id; it has {value!r:.40}. '
    'Write it as a string.'
  )


def as_text(where: str, name: str, value: Any) -> str:
  """Returns a string, '' for null; UserError if `value` is something else."""
  if value is None or isinstance(value, str):
    return value or ''
  raise errors.UserError(
    f"{where} must have '{name}', a string; it has {value!r:.40}. Correct it."
  )
