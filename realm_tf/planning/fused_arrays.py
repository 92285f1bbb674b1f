"""Finds the parts of arrays that an instruction, or a fusion, touches.

A turn of a loop reads a slice of an array with the values of all turns, and
writes a slice of another one in its place. Of a table, only rows are read.
"""

from collections.abc import Mapping

from realm_tf.planning import compiled_module

_SLICES = frozenset(['dynamic-slice', 'gather', 'slice'])
_UPDATE = 'dynamic-update-slice'


def bytes_read(
  each: compiled_module.Instruction,
  name: str,
  arrays: compiled_module.Arrays,
  module: compiled_module.Module,
) -> int:
  """Returns the bytes of operand `name` that an instruction reads."""
  whole = sum(array.bytes for array in arrays[name])
  if each.op in _SLICES and name == each.operands[0]:
    return min(whole, sum(_sizes(each)))
  if each.op == _UPDATE and name not in each.operands[1:]:
    return 0
  inner = compiled_module.fused(each, module)
  if not inner:
    return whole
  places = [
    f'({place})' for place, one in enumerate(each.operands) if one == name
  ]
  own = {part.name: part.arrays for part in inner}
  found = sum(
    _read_inside(part.name, inner, own, module)
    for part in inner
    if part.op == 'parameter' and part.operands[0] in places
  )
  return min(whole, found)


def _read_inside(
  name: str,
  inner: compiled_module.Instructions,
  arrays: compiled_module.Arrays,
  module: compiled_module.Module,
) -> int:
  """Returns the bytes of an array that a fusion's instructions read."""
  total = 0
  if name == inner[-1].name:  # The result, which the caller reads.
    total = sum(array.bytes for array in arrays[name])
  for each in inner:
    if name in each.operands:
      if each.op == 'bitcast':
        total += _read_inside(each.name, inner, arrays, module)
      else:
        total += bytes_read(each, name, arrays, module)
  return total


def bytes_written(
  each: compiled_module.Instruction,
  arrays: compiled_module.Arrays,
  module: compiled_module.Module,
) -> list[int]:
  """Returns the bytes that an instruction writes of each array it returns."""
  inner = compiled_module.fused(each, module)
  if inner:
    own = {part.name: part for part in inner}
    root = inner[-1]
    parts = (
      [own[name] for name in root.operands] if root.op == 'tuple' else [root]
    )
    own_arrays = {name: part.arrays for name, part in own.items()}
    sizes = [
      size
      for part in parts
      for size in bytes_written(_source(part, own), own_arrays, module)
    ]
    return sizes if len(sizes) == len(each.arrays) else _sizes(each)
  if each.op == _UPDATE:
    return [sum(array.bytes for array in arrays[each.operands[1]])]
  return _sizes(each)


def _source(
  part: compiled_module.Instruction,
  own: Mapping[str, compiled_module.Instruction],
) -> compiled_module.Instruction:
  while part.op == 'bitcast':
    part = own[part.operands[0]]
  return part


def _sizes(each: compiled_module.Instruction) -> list[int]:
  return [array.bytes for array in each.arrays]
