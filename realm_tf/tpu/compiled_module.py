"""Counts a compiled module's FLOP, traffic and sums, from its text.

  text -> Module -> {kind: number}

XLA's own cost analysis counts one turn of a loop, and includes the core's fast
memory (VMEM, 128 MiB of a v5e), where it keeps many arrays between two
instructions: layouts with S(1). Here a loop counts as often as it runs, and
only arrays without S(.) are in high-bandwidth memory (HBM). Each is counted
with its padding to tiles, once for each instruction that reads or writes it.
"""

import collections
from collections.abc import Iterator, Mapping, Sequence
import math
import re
from typing import NamedTuple

# Kinds of counts: FLOP of products; bytes of the arrays that are summed over
# cores; bytes that instructions read and write, also in the core's fast memory;
# and bytes between core and HBM by kind of instruction.
FLOPS, SUMS, ACCESSED = 'flops', 'sums', 'accessed'
PRODUCTS, COPIES, OTHERS = TRAFFIC = 'products', 'copies', 'others'

# Bytes of an element; others, such as tokens, have none.
_SIZES = {
  **dict.fromkeys(('pred', 's8', 'u8'), 1),
  **dict.fromkeys(('bf16', 'f16', 's16', 'u16'), 2),
  **dict.fromkeys(('f32', 's32', 'u32'), 4),
  **dict.fromkeys(('f64', 's64', 'u64'), 8),
}
_ARRAY = re.compile(r'\b([a-z]+\d*)\[([\d,]*)\](?:\{([^}]*)\})?')
_CALLED = re.compile(r'(?:calls|body|to_apply)=%?([\w.\-]+)')
_BRANCHES = re.compile(
  r'(?:branch_computations=\{([^}]*)\}|(?:true|false)_computation=([^,}]+))'
)
_CONDITION = re.compile(r'condition=%?([\w.\-]+)')
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
# Instructions that move nothing, and the ends of those that a start counts.
_FREE = frozenset([
  'after-all', 'all-reduce-done', 'async-done', 'async-start', 'async-update',
  'bitcast', 'call', 'conditional', 'constant', 'copy-done', 'parameter',
  'get-tuple-element', 'slice-done', 'tuple', 'while',
])  # fmt: skip
# Kernels that move nothing: memory for a result, and slices side by side.
_FREE_KERNELS = re.compile('target="(AllocateBuffer|ConcatBitcast)"')
_COPIES = frozenset(['copy', 'copy-start', 'slice', 'slice-start', 'transpose'])
_SLICES = frozenset(['dynamic-slice', 'gather', 'slice'])
_MULTIPLY = frozenset(['convolution', 'dot'])

Counter = collections.Counter[str]


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


def _parse(text: str) -> tuple[dict[str, list[Instruction]], str]:
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
  op = rest.partition('(')[0]
  end = len(op) + _end_of_group(rest[len(op) :])
  is_number = op in ('constant', 'parameter')
  operands = re.findall(
    r'^\(\d+\)$' if is_number else r'%([\w.\-]+)', rest[len(op) : end]
  )
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


class Module:
  """A compiled module.

  Attributes:
    counts: Kind -> the number in a call.
    num_instructions: Instructions of all computations, and of fusions.
  """

  def __init__(self, text: str):
    self._module, entry = _parse(text)
    self.num_instructions = sum(map(len, self._module.values()))
    self.counts = self._total(entry)

  def _total(self, name: str) -> Counter:
    """Returns the counts of a computation, with those that it calls.

    Of branches, the one with the most traffic counts.
    """
    instructions = self._module.get(name, ())
    found = collections.Counter({FLOPS: self._flops(instructions)})
    arrays = {each.name: each.arrays for each in instructions}
    for each in instructions:
      called = _CALLED.search(each.rest)
      if each.op in ('while', 'call', 'async-start') and called:
        turns = self._num_turns(each)
        for kind, number in self._total(called[1]).items():
          found[kind] += number * turns
      elif each.op == 'conditional':
        names = ' '.join(' '.join(x) for x in _BRANCHES.findall(each.rest))
        parts = [self._total(part) for part in re.findall(r'[\w.\-]+', names)]
        found.update(
          max(parts, key=lambda part: sum(part[kind] for kind in TRAFFIC))
        )
      elif each.op not in _FREE and not _FREE_KERNELS.search(each.rest):
        if each.op in ('all-reduce', 'all-reduce-start'):
          summed = (arrays.get(name, ()) for name in each.operands)
          found[SUMS] += sum(array.bytes for part in summed for array in part)
        inner = self._fused(each)
        ops = {each.op, *(part.op for part in inner)}
        kind = COPIES if each.op in _COPIES else OTHERS
        kind = kind if ops.isdisjoint(_MULTIPLY) else PRODUCTS
        found[kind] += self._moved(each, arrays, is_anywhere=False)
        found[ACCESSED] += self._moved(each, arrays, is_anywhere=True)
    return found

  def _fused(self, each: Instruction) -> Sequence[Instruction]:
    """Returns the instructions of a fusion, () for another instruction."""
    called = _CALLED.search(each.rest) if each.op == 'fusion' else None
    return self._module.get(called[1], ()) if called else ()

  def _num_turns(self, each: Instruction) -> int:
    """Returns the turns of a loop, 1 for a call or if they are not known.

    Without the compiler's own number, a loop that ends at a constant is taken
    to count up to it from 0.
    """
    if known := _TRIPS.search(each.rest):
      return int(known[1])
    condition = _CONDITION.search(each.rest)
    parts = self._module.get(condition[1], ()) if condition else ()
    ends = [
      part.operands[0]
      for part in parts
      if part.op == 'constant' and part.operands
    ]
    is_counted = any('direction=LT' in part.rest for part in parts)
    return int(ends[0].strip('()')) if is_counted and len(ends) == 1 else 1

  def _moved(
    self,
    each: Instruction,
    arrays: Mapping[str, list[Array]],
    is_anywhere: bool,
  ) -> int:
    """Returns the bytes that one instruction reads and writes, in HBM only."""
    counts = lambda array: is_anywhere or array.is_in_hbm
    if each.op in ('copy-start', 'slice-start'):
      # (to, from, context) or ((from), to, context).
      ends = each.arrays[:2]
      size = min(end.bytes for end in ends)
      return size * sum(map(counts, ends))
    read = sum(
      self._read(each, name, arrays)
      for name in set(each.operands)
      if any(map(counts, arrays.get(name, ())))
    )
    written = zip(self._written(each, arrays), each.arrays, strict=True)
    return read + sum(size for size, array in written if counts(array))

  def _read(
    self, each: Instruction, name: str, arrays: Mapping[str, list[Array]]
  ) -> int:
    """Returns the bytes of operand `name` that an instruction reads.

    A turn of a loop reads a slice of an array with the values of all turns. Of
    a table, only rows are read.
    """
    whole = _size(arrays[name])
    if each.op in _SLICES and name == each.operands[0]:
      return min(whole, _size(each.arrays))
    if each.op == 'dynamic-update-slice' and name not in each.operands[1:]:
      return 0
    inner = self._fused(each)
    if not inner:
      return whole
    own = {part.name: part.arrays for part in inner}

    def of_inner(name: str) -> int:
      total = _size(own[name]) if name == inner[-1].name else 0  # The result.
      for part in inner:
        if name in part.operands:
          is_same = part.op == 'bitcast'
          total += (
            of_inner(part.name) if is_same else self._read(part, name, own)
          )
      return total

    places = {f'({i})' for i, one in enumerate(each.operands) if one == name}
    found = (
      of_inner(part.name)
      for part in inner
      if part.op == 'parameter' and part.operands[0] in places
    )
    return min(whole, sum(found))

  def _written(
    self, each: Instruction, arrays: Mapping[str, list[Array]]
  ) -> list[int]:
    """Returns the bytes that an instruction writes of each array it returns.

    A turn of a loop writes a slice of an array in its place.
    """
    sizes = [array.bytes for array in each.arrays]
    if each.op == 'dynamic-update-slice':
      return [_size(arrays[each.operands[1]])]
    inner = self._fused(each)
    if not inner:
      return sizes
    own = {part.name: part for part in inner}
    own_arrays = {name: part.arrays for name, part in own.items()}
    root = inner[-1]
    found = []
    for name in root.operands if root.op == 'tuple' else [root.name]:
      part = own[name]
      while part.op == 'bitcast':
        part = own[part.operands[0]]
      found += self._written(part, own_arrays)
    return found if len(found) == len(sizes) else sizes

  def _flops(self, instructions: Sequence[Instruction]) -> int:
    """Returns the operations of products, with those inside of fusions."""
    shapes = {
      each.name: each.arrays[0].shape for each in instructions if each.arrays
    }
    total = 0
    for each in instructions:
      total += self._flops(self._fused(each))
      if each.op in _MULTIPLY:
        left, right = (shapes[name] for name in each.operands)
        total += _product_flops(each, left, right)
    return total


def _size(arrays: Sequence[Array]) -> int:
  return sum(array.bytes for array in arrays)


def _product_flops(
  each: Instruction, left: tuple[int, ...], right: tuple[int, ...]
) -> int:
  """Returns two operations for each pair of numbers that a product multiplies.

  A TPU's products are convolutions: the batch of a product is a window with as
  many turns, most of them on padding, which does not count, as in XLA's own
  analysis.
  """
  result = each.arrays[0].shape
  labels = re.search(r'dim_labels=(\w+)_(\w+)->(\w+)', each.rest)
  if labels is None:  # A dot.
    found = re.search(r'lhs_contracting_dims=\{([\d,]+)\}', each.rest)
    axes = map(int, found[1].split(',')) if found else ()
    return 2 * math.prod(result) * math.prod(left[axis] for axis in axes)
  inputs, kernels, outputs = labels.groups()
  window = re.search(r'window=\{([^}]*)\}', each.rest)
  sides = {
    name: value.split('x')
    for name, value in re.findall(r'(\w+)=(\S+)', window[1] if window else '')
  }
  total = 2 * right[kernels.index('i')]
  total *= result[outputs.index('b')] * result[outputs.index('f')]
  for axis in range(len(inputs) - 2):
    size, stride, spread, spread_window = (
      int(sides[name][axis]) if name in sides else 1
      for name in ('size', 'stride', 'lhs_dilate', 'rhs_dilate')
    )
    before = int(sides['pad'][axis].split('_')[0]) if 'pad' in sides else 0
    turns = result[outputs.index(str(axis))]
    if size == 1 == stride and not before:
      total *= turns
      continue
    end = (left[inputs.index(str(axis))] - 1) * spread
    places = (
      turn * stride + place * spread_window - before
      for turn in range(turns)
      for place in range(size)
    )
    total *= sum(0 <= at <= end and at % spread == 0 for at in places)
  return total
