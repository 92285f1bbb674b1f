"""Finds the fields of records, which each tool names in its own way.

record, names -> value: the first name that has one, in any case if need be
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional

from realm_tf import errors


def find(record: Mapping[str, Any], names: Sequence[str]) -> Any:
  """Returns the value of the first of `names` that has one; else None.

  Capital letters of the record's names count only if one of `names` is there.
  """
  for name in names:  # A loop, as each article of a corpus comes here.
    value = record.get(name)
    if value is not None:
      return value
  if any(name in record for name in names):
    return None
  lower = {key.lower(): value for key, value in record.items()}
  values = (lower.get(name) for name in names)
  return next((value for value in values if value is not None), None)


def has(record: Mapping[str, Any], names: Iterable[str]) -> bool:
  """Returns whether `record` has one of `names`, if only as null."""
  names = set(names)
  return any(name in names or name.lower() in names for name in record)


def as_id(where: str, value: Any) -> str:
  """Returns an id as text, '' for null.

  Raises:
    UserError: It is neither a string nor an integer.
  """
  if value is None:
    return ''
  if isinstance(value, str):
    return value
  if isinstance(value, int) and not isinstance(value, bool):
    return str(value)
  raise errors.UserError(
    f'{where} must have a string or an integer as id; it has {value!r:.40}. '
    'Write it as a string.'
  )


def need_text(where: str, what: str, value: Any) -> Optional[str]:
  """Returns `value`, a string or null; UserError if it is something else."""
  if value is None or isinstance(value, str):
    return value
  raise errors.UserError(
    f"{where} must have '{what}', a string; it has {value!r:.40}. Correct it."
  )
