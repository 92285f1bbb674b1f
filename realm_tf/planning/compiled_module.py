"""Reads a compiled module's text: its instructions and the bytes of arrays."""

import collections
from collections.abc import Callable, Iterator, Mapping, Sequence
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
_NAME = re.compile(r'%([\w.\-]+)')
_CONDITION = re.compile(r'condition=%?([\w.\-]+)')
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')


class Array(NamedTuple):
  """An array, with its bytes as padded to tiles."""

  shape: tuple[int, ...]
  bytes: int
  is_in_hbm: bool


class Instruction(NamedTuple):
  """One line of a computation."""

  name: str
  arrays: list[Array]  # Its result: several for a tuple.
  op: str
  operands: list[str]  # Names; '(3)' for parameter(3) and constant(3).
  rest: str  # Attributes.


Instructions = Sequence[Instruction]
Module = Mapping[str, Instructions]
Arrays = Mapping[str, list[Array]]  # By the name of the instruction.
Counter = collections.Counter[str]
# -> counts of one call, without loops, calls and branches.
Count = Callable[[Instructions], Counter]


def total(module: Module, name: str, count: Count) -> Counter:
  """Returns the counts of a call of a computation and of those it calls.

  A loop counts as often as it runs if that number is known, else once; of
  branches, the one with the largest sum counts.
  """
  instructions = module.get(name, ())
  found = count(instructions)
  for each in instructions:
    called = _CALLED.search(each.rest)
    if each.op in ('while', 'call', 'async-start') and called:
      for kind, number in total(module, called[1], count).items():
        found[kind] += number * _num_turns(each, module)
    elif each.op == 'conditional':
      parts = [
        total(module, branch, count)
        for names in _BRANCHES.findall(each.rest)
        for branch in re.findall(r'[\w.\-]+', ' '.join(names))
      ]
      found.update(max(parts, key=lambda part: sum(part.values())))
  return found


def fused(each: Instruction, module: Module) -> Instructions:
  """Returns the instructions of a fusion, () for another instruction."""
  called = _CALLED.search(each.rest) if each.op == 'fusion' else None
  return module.get(called[1], ()) if called else ()


def _num_turns(each: Instruction, module: Module) -> int:
  """Returns the turns of a loop, 1 for a call or if they are not known.

  Without the compiler's own number, a loop that ends at a constant is taken to
  count up to it from 0.
  """
  known = _TRIPS.search(each.rest)
  if known:
    return int(known[1])
  condition = _CONDITION.search(each.rest)
  parts = module.get(condition[1], []) if condition else []
  ends = [
    part.operands[0]
    for part in parts
    if part.op == 'constant' and part.operands
  ]
  is_counted = any('direction=LT' in part.rest for part in parts)
  return int(ends[0].strip('()')) if is_counted and len(ends) == 1 else 1


def parse(text: str) -> tuple[Module, str]:
  """Returns computation -> its instructions, and the entry's name."""
  computations: dict[str, list[Instruction]] = {}
  entry = name = ''
  for line in text.splitlines():
    if line.endswith('{') and ' -> ' in line and not line.startswith(' '):
      name = line.removeprefix('ENTRY ').split(' ')[0].lstrip('%')
      computations[name] = []
      entry = name if line.startswith('ENTRY ') else entry
    elif ' = ' in line and name:
      computations[name].append(_instruction(line))
  return computations, entry


def _instruction(line: str) -> Instruction:
  name, _, rest = line.strip().removeprefix('ROOT ').partition(' = ')
  end = _end_of_group(rest) if rest.startswith('(') else rest.index(' ')
  result, rest = rest[:end], rest[end:].lstrip()
  op, _, _ = rest.partition('(')
  end = len(op) + _end_of_group(rest[len(op) :])
  inside = rest[len(op) : end]
  is_number = op in ('constant', 'parameter')
  operands = re.findall(r'^\(\d+\)$' if is_number else _NAME, inside)
  return Instruction(
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


def _arrays(result: str) -> Iterator[Array]:
  for kind, sides, layout in _ARRAY.findall(result):
    if kind in _SIZES:
      shape = tuple(int(side) for side in sides.split(',') if side)
      size = _SIZES[kind] * _num_elements(list(shape), layout)
      yield Array(shape, size, 'S(' not in layout)


def _num_elements(shape: list[int], layout: str) -> int:
  """Returns the elements, with padding: [3,5]{1,0:T(8,128)} has 8 * 128."""
  order, _, tiling = layout.partition(':')
  tile = _TILE.match(tiling)
  if tile and shape:
    minor_first = [int(axis) for axis in order.split(',')]
    for axis, multiple in zip(minor_first, reversed(tile[1].split(','))):
      shape[axis] = -(-shape[axis] // int(multiple)) * int(multiple)
  return math.prod(shape)
