"""Counts a compiled module's FLOP, traffic and sums, from its text.

XLA's own cost analysis counts one turn of a loop, and includes the core's fast
memory (VMEM, 128 MiB of a v5e), where it keeps many arrays between two
instructions: layouts with S(1). Here a loop counts as often as it runs, and
only arrays without S(.) are in high-bandwidth memory (HBM). Each is counted
with its padding to tiles, once for each instruction that reads or writes it.
"""

import collections
from collections.abc import Iterator, Mapping, Sequence
import dataclasses
import math
import re
from typing import NamedTuple

import numpy as np

# Kinds of counts: FLOP of products; bytes of the arrays that are summed over
# cores; and bytes between core and HBM by kind of instruction.
FLOPS, SUMS = 'flops', 'sums'
PRODUCTS, COPIES, OTHERS = TRAFFIC = 'products', 'copies', 'others'

# Bytes of an element; others, such as tokens, have none.
_SIZES = {
  **dict.fromkeys(('pred', 's8', 'u8'), 1),
  **dict.fromkeys(('bf16', 'f16', 's16', 'u16'), 2),
  **dict.fromkeys(('f32', 's32', 'u32'), 4),
  **dict.fromkeys(('f64', 's64', 'u64'), 8),
}
_NAME = re.compile(r'%([\w.\-]+)')
_LINE = re.compile(
  r'\s+(?:ROOT )?%([\w.\-]+) = (.*?) ([\w\-]+)\((.*?)\)(?:, (.*))?'
)
_ARRAY = re.compile(r'\b([a-z]+\d*)\[([\d,]*)\](?:\{([^}]*)\})?')
_CALLED = re.compile(
  r'(?:calls|body|to_apply|branch_computations|(?:true|false)_computation)='
  r'\{?((?:%[\w.\-]+(?:, )?)+)'
)
_LABELS = re.compile(r'dim_labels=(\w+)_(\w+)->(\w+)')
_WINDOW = re.compile(r'window=\{([^}]*)\}')
_CONDITION = re.compile(r'condition=%([\w.\-]+)')
# Instructions that move nothing, and the ends of those that a start counts.
_FREE = frozenset([
  'after-all', 'all-reduce-done', 'async-done', 'async-start', 'async-update',
  'bitcast', 'call', 'conditional', 'constant', 'copy-done', 'parameter',
  'get-tuple-element', 'slice-done', 'tuple', 'while',
])  # fmt: skip
# Kernels that move nothing: memory for a result, and slices side by side.
_FREE_KERNELS = re.compile('target="(AllocateBuffer|ConcatBitcast)"')
_COPIES = frozenset(['copy', 'copy-start', 'slice', 'slice-start', 'transpose'])
_PRODUCT = 'convolution'
_SLICES = frozenset(['dynamic-slice', 'gather', 'slice'])

Counter = collections.Counter[str]


class Array(NamedTuple):
  """An array, with its bytes as padded to tiles."""

  shape: tuple[int, ...]
  bytes: int
  is_in_hbm: bool


@dataclasses.dataclass(frozen=True, eq=False)
class Instruction:
  """One line of a computation.

  Attributes:
    arrays: Its result: several for a tuple.
    operands: Instructions of the same computation.
    inside: The text in the parentheses, such as 3 in parameter(3).
    attributes: The text after them.
    called: Instructions of each computation that it calls.
    turns: How often a loop runs, else 1.
  """

  op: str
  arrays: list[Array]
  operands: list['Instruction']
  inside: str
  attributes: str
  called: list[list['Instruction']]
  turns: int

  @property
  def bytes(self) -> int:
    return sum(array.bytes for array in self.arrays)

  @property
  def fused(self) -> Sequence['Instruction']:
    """Instructions of a fusion; the last is its result."""
    return self.called[0] if self.op == 'fusion' else ()


def counts(text: str) -> Counter:
  """Returns kind -> the number in a call of a compiled module."""
  computations: dict[str, list[Instruction]] = {}
  entry: list[Instruction] = []
  for line in text.splitlines():
    if line.endswith('{') and ' -> ' in line and not line.startswith(' '):
      own: dict[str, Instruction] = {}
      part: list[Instruction] = []
      computations[line.removeprefix('ENTRY ').split()[0].lstrip('%')] = part
      entry = part if line.startswith('ENTRY ') else entry
    elif match := _LINE.fullmatch(line):
      name, result, op, inside, attributes = match.groups(default='')
      operands = [own[one] for one in _NAME.findall(inside)]
      own[name] = Instruction(
        op,
        list(_arrays(result)),
        operands,
        inside,
        attributes,
        [
          computations[one]
          for names in _CALLED.findall(attributes)
          for one in _NAME.findall(names)
        ],
        _num_turns(attributes, computations),
      )
      part.append(own[name])
  return _total(entry)


def _arrays(result: str) -> Iterator[Array]:
  """Yields a result's arrays: [3,5]{1,0:T(8,128)} has 8 * 128 elements."""
  for kind, sides, layout in _ARRAY.findall(result):
    if kind in _SIZES:
      shape = [int(side) for side in sides.split(',') if side]
      padded = list(shape)
      order, _, tiling = layout.partition(':')
      tile = re.match(r'T\(([\d,]+)\)', tiling)
      if tile and shape:
        multiples = map(int, reversed(tile[1].split(',')))
        for axis, multiple in zip(map(int, order.split(',')), multiples):
          padded[axis] = -(-shape[axis] // multiple) * multiple
      size = _SIZES[kind] * math.prod(padded)
      yield Array(tuple(shape), size, 'S(' not in layout)


def _num_turns(
  attributes: str, computations: Mapping[str, list[Instruction]]
) -> int:
  """Returns the turns of a loop, 1 for others or if they are not known.

  A loop that ends at a constant is taken to count up to it from 0.
  """
  condition = _CONDITION.search(attributes)
  parts = computations[condition[1]] if condition else []
  ends = [each.inside for each in parts if each.op == 'constant']
  is_counted = any('direction=LT' in each.attributes for each in parts)
  return int(ends[0]) if is_counted and len(ends) == 1 else 1


def _total(instructions: Sequence[Instruction]) -> Counter:
  """Returns the counts of a computation, with those that it calls.

  Of branches, the one with the most traffic counts.
  """
  found: Counter = collections.Counter()
  for each in instructions:
    if each.op in ('while', 'call', 'async-start') and each.called:
      for kind, number in _total(each.called[0]).items():
        found[kind] += number * each.turns
    elif each.op == 'conditional':
      parts = map(_total, each.called)
      found.update(
        max(parts, key=lambda part: sum(part[kind] for kind in TRAFFIC))
      )
    elif each.op not in _FREE and not _FREE_KERNELS.search(each.attributes):
      if each.op in ('all-reduce', 'all-reduce-start'):
        found[SUMS] += sum(one.bytes for one in each.operands)
      found[FLOPS] += sum(map(_product_flops, _products(each)))
      kind = COPIES if each.op in _COPIES else OTHERS
      if any(part.op == _PRODUCT for part in (each, *each.fused)):
        kind = PRODUCTS
      found[kind] += _moved(each)
  return found


def _products(each: Instruction) -> Iterator[Instruction]:
  """Yields the products that an instruction is or has fused."""
  if each.op == _PRODUCT:
    yield each
  for part in each.fused:
    yield from _products(part)


def _moved(each: Instruction) -> int:
  """Returns the bytes that one instruction reads from HBM and writes to it."""
  if each.op in ('copy-start', 'slice-start'):
    # (to, from, context) or ((from), to, context).
    ends = each.arrays[:2]
    return min(end.bytes for end in ends) * sum(end.is_in_hbm for end in ends)
  read = sum(
    _read(each, one)
    for one in set(each.operands)
    if any(array.is_in_hbm for array in one.arrays)
  )
  written = zip(_written(each), each.arrays, strict=True)
  return read + sum(size for size, array in written if array.is_in_hbm)


def _read(each: Instruction, operand: Instruction) -> int:
  """Returns the bytes of an operand that an instruction reads.

  A turn of a loop reads a slice of an array with the values of all turns. Of
  a table, only rows are read.
  """
  if each.op in _SLICES and operand is each.operands[0]:
    return min(operand.bytes, each.bytes)
  if each.op == 'dynamic-update-slice' and operand not in each.operands[1:]:
    return 0
  if not each.fused:
    return operand.bytes

  def inside(one: Instruction) -> int:
    total = one.bytes if one is each.fused[-1] else 0
    for user in each.fused:
      if one in user.operands:
        total += inside(user) if user.op == 'bitcast' else _read(user, one)
    return total

  found = sum(
    inside(one)
    for one in each.fused
    if one.op == 'parameter' and each.operands[int(one.inside)] is operand
  )
  return min(operand.bytes, found)


def _written(each: Instruction) -> list[int]:
  """Returns the bytes that an instruction writes of each array it returns.

  A turn of a loop writes a slice of an array in its place.
  """
  if each.op == 'dynamic-update-slice':
    return [each.operands[1].bytes]
  found = []
  if each.fused:
    root = each.fused[-1]
    for part in root.operands if root.op == 'tuple' else [root]:
      while part.op == 'bitcast':
        [part] = part.operands
      found += _written(part)
  sizes = [array.bytes for array in each.arrays]
  return found if len(found) == len(sizes) else sizes


def _product_flops(each: Instruction) -> int:
  """Returns two operations for each pair of numbers that a product multiplies.

  A TPU's products are convolutions: the batch of a product is a window with as
  many turns, most of them on padding, which does not count, as in XLA's own
  analysis.
  """
  left, right = (one.arrays[0].shape for one in each.operands)
  result = each.arrays[0].shape
  [(inputs, kernels, outputs)] = _LABELS.findall(each.attributes)
  window = re.findall(r'(\w+)=(\S+)', *_WINDOW.findall(each.attributes) or [''])
  sides = {name: value.split('x') for name, value in window}
  total = 2 * right[kernels.index('i')]
  total *= result[outputs.index('b')] * result[outputs.index('f')]
  for axis in range(len(inputs) - 2):
    size, stride, spread, spread_window = (
      int(sides[name][axis]) if name in sides else 1
      for name in ('size', 'stride', 'lhs_dilate', 'rhs_dilate')
    )
    before = int(sides['pad'][axis].split('_')[0]) if 'pad' in sides else 0
    turns = stride * np.arange(result[outputs.index(str(axis))])
    places = np.add.outer(turns, spread_window * np.arange(size) - before)
    end = (left[inputs.index(str(axis))] - 1) * spread
    is_padding = (places < 0) | (places > end) | (places % spread > 0)
    total *= int(np.count_nonzero(~is_padding))
  return total
