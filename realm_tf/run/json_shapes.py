"""Declares the fields of JSON objects as types, which msgspec checks.

  FIELDS = {'num_blocks': COUNT, 'files': OBJECT, 'links': optional(OBJECT)}
  check(value, FIELDS, path, advice)

All JSON from outside of the process is checked here. An object may have other
fields than the declared ones.
"""

from collections.abc import Mapping
import functools
import re
import sys
from typing import (
  Annotated,
  Any,
  Literal,
  Optional,
  get_args,
  get_origin,
  get_type_hints,
)

import msgspec
from typing_extensions import NotRequired
from typing_extensions import TypedDict

from realm_tf import errors

Shape = Any  # A type that msgspec knows.
_MOST = 2**53  # Larger whole numbers are not exact in every JSON parser.
_SHOWN_CHARACTERS = 60
_FIELD = re.compile(r'at `\$\.([^`.\[]+)`$')  # The end of msgspec's errors.


def count(at_least: int = 0, at_most: int = _MOST) -> Shape:
  """Returns the type of an integer in these bounds."""
  return Annotated[int, msgspec.Meta(ge=at_least, le=at_most)]


def number(at_least: float, at_most: float) -> Shape:
  """Returns the type of a number in these bounds."""
  return Annotated[float, msgspec.Meta(ge=at_least, le=at_most)]


COUNT = count()
WHOLE = count(-_MOST)
NUMBER = number(-sys.float_info.max, sys.float_info.max)  # Not NaN.
TEXT = str
SWITCH = bool
OBJECT = dict[str, Any]
SHA256 = Annotated[str, msgspec.Meta(pattern=r'\A[0-9a-f]{64}\Z')]


def one_of(*values: str | int | None) -> Shape:
  """Returns the type of one of `values`."""
  return Literal[values]


def nullable(shape: Shape) -> Shape:
  """Returns the type of null or a value of `shape`."""
  return Optional[shape]


def optional(shape: Shape) -> Shape:
  """Returns the type of a field that may be left out."""
  return NotRequired[shape]


def list_of(shape: Shape) -> Shape:
  """Returns the type of a list of values of `shape`."""
  return list[shape]


def row_of(*shapes: Shape) -> Shape:
  """Returns the type of a list with a value for each of `shapes`."""
  return tuple[shapes]  # type: ignore[valid-type]


def map_of(shape: Shape) -> Shape:
  """Returns the type of an object with values of `shape` and any names."""
  return dict[str, shape]


def object_of(fields: Mapping[str, Shape]) -> Shape:
  """Returns the type of an object that has `fields`; it may have others."""
  return TypedDict('Object', dict(fields))  # type: ignore[operator]


def fields_of(record: type[Any]) -> dict[str, Shape]:
  """Returns the fields of a NamedTuple whose types are str and int."""
  shapes = {str: TEXT, int: COUNT}
  return {name: shapes[kind] for name, kind in get_type_hints(record).items()}


def holds(value: Any, shape: Shape) -> bool:
  """Returns whether a value has the type."""
  try:
    msgspec.convert(value, shape)
  except (msgspec.ValidationError, RecursionError):
    return False
  return True


def check(
  value: Any, fields: Mapping[str, Shape], where: str, advice: str
) -> dict[str, Any]:
  """Returns `value` if it is an object that has `fields`.

  Args:
    where: File, or file and line, for the error.
    advice: Last sentence of the error.

  Raises:
    UserError: Names the path of the first field that is missing or wrong.
  """
  try:
    msgspec.convert(value, _object_of(tuple(fields.items())))
  except (msgspec.ValidationError, RecursionError) as error:
    found = _explained(str(error), value, fields)
    raise errors.UserError(
      f'{where} must have the right fields. Found: {found}. {advice}'
    ) from error
  return value


def _explained(found: str, value: Any, fields: Mapping[str, Shape]) -> str:
  """Adds to msgspec's error the value of a field, and the allowed ones."""
  match = _FIELD.search(found)
  if not match:
    return found
  shape = fields[match[1]]
  if get_origin(shape) is NotRequired:
    [shape] = get_args(shape)
  found += f', which is {shown(value[match[1]])}'
  if get_origin(shape) is Literal:
    found += f' and must be one of {", ".join(map(str, get_args(shape)))}'
  return found


@functools.cache
def _object_of(fields: tuple[tuple[str, Shape], ...]) -> Shape:
  # msgspec compiles each type once, in some 0.1 ms.
  return object_of(dict(fields))


def shown(value: Any) -> str:
  """Returns a short description of a value for an error."""
  if isinstance(value, (dict, list)):
    kind = 'an object' if isinstance(value, dict) else 'a list'
    return f'{kind} of {len(value)}'
  text = repr(value)
  if len(text) > _SHOWN_CHARACTERS:
    text = f'{text[:_SHOWN_CHARACTERS]}...'
  return text
