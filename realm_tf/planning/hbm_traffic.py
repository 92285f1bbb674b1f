"""Counts the bytes between a TPU core and its high-bandwidth memory (HBM).

  compiled module -> [this file] -> bytes by kind of instruction

The compiler's own 'bytes accessed' include the core's fast memory (VMEM, 128
MiB of a v5e), where XLA keeps many arrays between two instructions: layouts
with S(1). Only arrays without S(.) are in HBM. Each is counted with its padding
to tiles, once for each instruction that reads or writes it.
"""

import collections
import re

from realm_tf.planning import compiled_module
from realm_tf.planning import fused_arrays

# Instructions that move nothing, and the ends of those that a start counts.
_FREE = frozenset([
  'after-all', 'all-reduce-done', 'async-done', 'async-start', 'async-update',
  'bitcast', 'call', 'conditional', 'constant', 'copy-done', 'parameter',
  'get-tuple-element', 'slice-done', 'tuple', 'while',
])  # fmt: skip
# Kernels that move nothing: memory for a result, and slices side by side.
_FREE_KERNELS = re.compile('target="(AllocateBuffer|ConcatBitcast)"')
_SUMS = frozenset(['all-reduce', 'all-reduce-start'])
_COPIES = frozenset(['copy', 'copy-start', 'slice', 'slice-start', 'transpose'])
PRODUCTS, COPIES, OTHERS = 'products', 'copies', 'others'
SUMS = 'sums'


def count(
  module: compiled_module.Module, entry: str, is_anywhere: bool = False
) -> dict[str, float]:
  """Returns the bytes of a call by kind: PRODUCTS, COPIES, OTHERS.

  SUMS are the bytes of the arrays that are summed over cores. With
  `is_anywhere`, the bytes in the core's fast memory count, too.
  """
  of_one = lambda instructions: _of_one(instructions, module, is_anywhere)
  return dict(compiled_module.total(module, entry, of_one))


def _of_one(
  instructions: compiled_module.Instructions,
  module: compiled_module.Module,
  is_anywhere: bool,
) -> compiled_module.Counter:
  arrays = {each.name: each.arrays for each in instructions}
  total: compiled_module.Counter = collections.Counter()
  for each in instructions:
    if each.op in _FREE or _FREE_KERNELS.search(each.rest):
      continue
    if each.op in _SUMS:
      total[SUMS] += sum(
        array.bytes for name in each.operands for array in arrays.get(name, ())
      )
    kind = _kind(each, compiled_module.fused(each, module))
    total[kind] += _moved(each, arrays, module, is_anywhere)
  return total


def _kind(
  each: compiled_module.Instruction, inner: compiled_module.Instructions
) -> str:
  ops = {each.op, *(part.op for part in inner)}
  if not ops.isdisjoint(('convolution', 'dot')):
    return PRODUCTS
  return COPIES if each.op in _COPIES else OTHERS


def _moved(
  each: compiled_module.Instruction,
  arrays: compiled_module.Arrays,
  module: compiled_module.Module,
  is_anywhere: bool,
) -> int:
  """Returns the bytes that one instruction reads and writes in HBM."""
  if each.op in ('copy-start', 'slice-start'):
    # (to, from, context) or ((from), to, context).
    ends = each.arrays[:2]
    return min(end.bytes for end in ends) * sum(
      is_anywhere or end.is_in_hbm for end in ends
    )
  read = sum(
    fused_arrays.bytes_read(each, name, arrays, module)
    for name in set(each.operands)
    if any(is_anywhere or array.is_in_hbm for array in arrays.get(name, ()))
  )
  written = fused_arrays.bytes_written(each, arrays, module)
  return read + sum(
    number
    for number, array in zip(written, each.arrays, strict=True)
    if is_anywhere or array.is_in_hbm
  )
