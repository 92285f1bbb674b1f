"""Declares the fields of JSON objects with their types, and checks them.

  FIELDS = {'num_blocks': COUNT, 'files': OBJECT, 'links': optional(OBJECT)}
  check(value, FIELDS, path, advice)

All JSON from outside of the process is checked here.
"""

from collections.abc import Callable, Mapping
import math
from typing import Any, NamedTuple, get_type_hints

from realm_tf import errors

_MOST = 2**53  # Larger whole numbers are not exact in every JSON parser.
_SHOWN_CHARACTERS = 60


class Shape(NamedTuple):
  """A set of JSON values, tested by `holds`: "must be `description`"."""

  description: str
  holds: Callable[[Any], bool]
  is_optional: bool = False


def count(at_least: int = 0, at_most: int = _MOST) -> Shape:
  """Returns the shape of an integer in these bounds."""
  return Shape(
    f'a whole number from {at_least} to {at_most}',
    # isinstance takes a bool for an int.
    lambda value: type(value) is int and at_least <= value <= at_most,
  )


COUNT = count()
WHOLE = count(-_MOST)
TEXT = Shape('a string', lambda value: isinstance(value, str))
SWITCH = Shape('true or false', lambda value: isinstance(value, bool))
OBJECT = Shape('an object', lambda value: isinstance(value, dict))
NUMBER = Shape(
  'a finite number',
  lambda value: (
    (type(value) is int and abs(value) <= _MOST)
    or (type(value) is float and math.isfinite(value))
  ),
)
SHA256 = Shape(
  'the 64 hexadecimal digits of a SHA-256',
  lambda value: (
    isinstance(value, str)
    and len(value) == 64
    and all(character in '0123456789abcdef' for character in value)
  ),
)


def fields_of(record: type[Any]) -> dict[str, Shape]:
  """Returns the fields of a NamedTuple whose types are str and int."""
  shapes = {str: TEXT, int: COUNT}
  return {name: shapes[kind] for name, kind in get_type_hints(record).items()}


def one_of(*values: Any) -> Shape:
  """Returns the shape of one of `values`, which distinguishes True from 1."""
  names = ', '.join(map(str, values))
  return Shape(
    f'one of {names}' if len(values) > 1 else names,
    lambda value: any(type(value) is type(v) and value == v for v in values),
  )


def nullable(shape: Shape) -> Shape:
  """Returns the shape of null or a value of `shape`."""
  return Shape(
    f'null or {shape.description}',
    lambda value: value is None or shape.holds(value),
  )


def optional(shape: Shape) -> Shape:
  """Returns the shape of a field that may be left out."""
  return shape._replace(is_optional=True)


def list_of(shape: Shape) -> Shape:
  """Returns the shape of a list of values of `shape`."""
  return Shape(
    f'a list, each {shape.description}',
    lambda value: isinstance(value, list) and all(map(shape.holds, value)),
  )


def row_of(*shapes: Shape) -> Shape:
  """Returns the shape of a list with a value for each of `shapes`."""
  return Shape(
    f'a list of {", ".join(shape.description for shape in shapes)}',
    lambda value: (
      isinstance(value, list)
      and len(value) == len(shapes)
      and all(shape.holds(v) for shape, v in zip(shapes, value))
    ),
  )


def map_of(shape: Shape) -> Shape:
  """Returns the shape of an object with values of `shape` and any names."""
  return Shape(
    f'an object with values that are {shape.description}',
    lambda value: (
      isinstance(value, dict) and all(map(shape.holds, value.values()))
    ),
  )


def object_of(fields: Mapping[str, Shape]) -> Shape:
  """Returns the shape of an object that has `fields`; it may have others."""
  parts = (f'`{name}`, {shape.description}' for name, shape in fields.items())
  return Shape(
    f'an object with {"; ".join(parts)}',
    lambda value: (
      isinstance(value, dict)
      and all(
        shape.holds(value[name]) if name in value else shape.is_optional
        for name, shape in fields.items()
      )
    ),
  )


def check(
  value: Any, fields: Mapping[str, Shape], where: str, advice: str
) -> dict[str, Any]:
  """Returns `value` if it is an object that has `fields`.

  Args:
    where: File, or file and line, for the error.
    advice: Last sentence of the error.

  Raises:
    UserError: Names the first field that is missing or has another shape.
  """
  if not isinstance(value, dict):
    raise errors.UserError(
      f'{where} must be an object. Found {shown(value)}. {advice}'
    )
  for name, shape in fields.items():
    field(value, name, shape, where, advice)
  return value


def field(
  values: Mapping[str, Any], name: str, shape: Shape, where: str, advice: str
) -> Any:
  """Returns a field; None if optional and missing, UserError if wrong."""
  if name in values:
    if not shape.holds(values[name]):
      raise errors.UserError(
        f'{name!r} in {where} must be {shape.description}. Found '
        f'{shown(values[name])}. {advice}'
      )
  elif not shape.is_optional:
    raise errors.UserError(
      f'{where} must have {name!r}, {shape.description}. Found no {name!r}. '
      f'{advice}'
    )
  return values.get(name)


def shown(value: Any) -> str:
  """Returns a short description of a value for an error."""
  if isinstance(value, (dict, list)):
    kind = 'an object' if isinstance(value, dict) else 'a list'
    return f'{kind} of {len(value)}'
  text = repr(value)
  if len(text) > _SHOWN_CHARACTERS:
    text = f'{text[:_SHOWN_CHARACTERS]}...'
  return text
