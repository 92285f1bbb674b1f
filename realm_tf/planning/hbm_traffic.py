"""Counts the bytes between a TPU core and its high-bandwidth memory (HBM).

  compiled module, as text -> [this file] -> bytes by kind of instruction

The compiler's own 'bytes accessed' include the core's fast memory (VMEM, 128
MiB of a v5e), where XLA keeps many arrays between two instructions: layouts
with S(1). Only arrays without S(.) are in HBM. Each is counted with its padding
to tiles, once for each instruction that reads or writes it.
"""

import collections
from collections.abc import Iterator, Mapping
import math
import re
from typing import NamedTuple

# Bytes of an element; others, such as tokens, have none.
_SIZES = {
  **dict.fromkeys(('pred', 's8', 'u8'), 1),
  **dict.fromkeys(('bf16', 'f16', 's16', 'u16'), 2),
  **dict.fromkeys(('f32', 's32', 'u32'), 4),
  **dict.fromkeys(('f64', 's64', 'u64'), 8),
}
_ARRAY = re.compile(r'\b([a-z]+\d*)\[([\d,]*)\](?:\{([^}]*)\})?')
_TILE = re.compile(r'T\(([\d,]+)\)')
_CALLED = re.compile(r'(?:calls|body|to_apply)=%?([\w.\-]+)')
_BRANCHES = re.compile(
  r'(?:branch_computations=\{([^}]*)\}|(?:true|false)_computation=([^,}]+))'
)
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
# Instructions that move nothing, and the ends of those that a start counts.
_FREE = frozenset([
  'after-all', 'all-reduce-done', 'bitcast', 'constant', 'copy-done',
  'get-tuple-element', 'parameter', 'slice-done', 'tuple',
])  # fmt: skip
_SUMS = frozenset(['all-reduce', 'all-reduce-start'])
_COPIES = frozenset(['copy', 'copy-start', 'slice-start', 'transpose'])
PRODUCTS, COPIES, OTHERS = 'products', 'copies', 'others'
SUMS = 'sums'


class _Array(NamedTuple):
  bytes: int
  is_in_hbm: bool


class _Instruction(NamedTuple):
  name: str
  arrays: list[_Array]  # Its result: several for a tuple.
  op: str
  operands: list[str]
  rest: str  # Attributes.


def count(text: str) -> dict[str, float]:
  """Returns the bytes of a call by kind: PRODUCTS, COPIES, OTHERS.

  SUMS are the bytes of the arrays that are summed over cores.
  A loop counts as often as it runs if the compiler knows that number, else
  once; of branches, the one with the most bytes counts.
  """
  computations, entry = _parse(text)
  return dict(_of_computation(entry, computations))


def _of_computation(
  name: str, computations: Mapping[str, list[_Instruction]]
) -> collections.Counter[str]:
  instructions = computations.get(name, [])
  arrays = {each.name: each.arrays for each in instructions}
  total: collections.Counter[str] = collections.Counter()
  for each in instructions:
    called = _CALLED.search(each.rest)
    if each.op in ('while', 'call') and called:
      trips = _TRIPS.search(each.rest)
      part = _of_computation(called[1], computations)
      for kind, number in part.items():
        total[kind] += number * (int(trips[1]) if trips else 1)
    elif each.op == 'conditional':
      parts = [
        _of_computation(branch, computations)
        for found in _BRANCHES.findall(each.rest)
        for branch in re.findall(r'[\w.\-]+', ' '.join(found))
      ]
      total.update(max(parts, key=lambda part: sum(part.values())))
    elif each.op not in _FREE:
      if each.op in _SUMS:
        total[SUMS] += sum(
          array.bytes
          for name in each.operands
          for array in arrays.get(name, ())
        )
      inner = computations.get(called[1], []) if called else []
      total[_kind(each, inner)] += _moved(each, arrays, inner)
  return total


def _kind(each: _Instruction, inner: list[_Instruction]) -> str:
  ops = {each.op, *(part.op for part in inner)}
  if not ops.isdisjoint(('convolution', 'dot')):
    return PRODUCTS
  return COPIES if each.op in _COPIES else OTHERS


def _moved(
  each: _Instruction,
  arrays: Mapping[str, list[_Array]],
  inner: list[_Instruction],
) -> int:
  """Returns the bytes that one instruction reads and writes in HBM."""
  if each.op in ('copy-start', 'slice-start'):
    # (to, from, context) or ((from), to, context).
    ends = each.arrays[:2]
    return min(end.bytes for end in ends) * sum(end.is_in_hbm for end in ends)
  read = [
    array for name in set(each.operands) for array in arrays.get(name, ())
  ]
  # Of a table, only the rows that come out are read.
  ops = {each.op, *(part.op for part in inner)}
  most = math.inf
  if (
    not ops.isdisjoint(('gather', 'dynamic-slice'))
    and _kind(each, inner) != PRODUCTS
  ):
    most = sum(array.bytes for array in each.arrays)
  return sum(
    int(min(array.bytes, most)) for array in read if array.is_in_hbm
  ) + sum(array.bytes for array in each.arrays if array.is_in_hbm)


def _parse(text: str) -> tuple[dict[str, list[_Instruction]], str]:
  """Returns computation -> its instructions, and the entry's name."""
  computations: dict[str, list[_Instruction]] = {}
  entry = name = ''
  for line in text.splitlines():
    if line.endswith('{') and ' -> ' in line and not line.startswith(' '):
      name = line.removeprefix('ENTRY ').split(' ')[0].lstrip('%')
      computations[name] = []
      entry = name if line.startswith('ENTRY ') else entry
    elif ' = ' in line and name:
      computations[name].append(_instruction(line))
  return computations, entry


def _instruction(line: str) -> _Instruction:
  name, _, rest = line.strip().removeprefix('ROOT ').partition(' = ')
  end = _end_of_group(rest) if rest.startswith('(') else rest.index(' ')
  result, rest = rest[:end], rest[end:].lstrip()
  op, _, _ = rest.partition('(')
  end = len(op) + _end_of_group(rest[len(op) :])
  operands = re.findall(r'%([\w.\-]+)', rest[len(op) : end])
  return _Instruction(
    name.lstrip('%'), list(_arrays(result)), op, operands, rest[end:]
  )


def _end_of_group(text: str) -> int:
  """Returns the place after the parenthesis that closes the first."""
  depth = 0
  for match in re.finditer(r'[()]', text):
    depth += 1 if match[0] == '(' else -1
    if not depth:
      return match.end()
  return len(text)


def _arrays(result: str) -> Iterator[_Array]:
  for kind, sides, layout in _ARRAY.findall(result):
    if kind in _SIZES:
      size = _SIZES[kind] * _num_elements(sides, layout)
      yield _Array(size, 'S(' not in layout)


def _num_elements(sides: str, layout: str) -> int:
  """Returns the elements, with padding: [3,5]{1,0:T(8,128)} has 8 * 128."""
  shape = [int(side) for side in sides.split(',') if side]
  order, _, tiling = layout.partition(':')
  tile = _TILE.match(tiling)
  if tile and shape:
    minor_first = [int(axis) for axis in order.split(',')]
    for axis, multiple in zip(minor_first, reversed(tile[1].split(','))):
      shape[axis] = -(-shape[axis] // int(multiple)) * int(multiple)
  return math.prod(shape)
