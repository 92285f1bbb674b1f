"""Counts the floating-point operations of a compiled module's products.

A TPU's products are convolutions in the module: the batch of a product is a
window with as many turns, most of them on padding. Two operations count for
each pair of numbers that meet outside of the padding, as in XLA's cost
analysis. Unlike that, a loop counts as often as it runs.
"""

import collections
from collections.abc import Mapping
import math
import re

from realm_tf.planning import compiled_module

FLOPS = 'flops'
_LABELS = re.compile(r'dim_labels=(\w+)_(\w+)->(\w+)')
_WINDOW = re.compile(r'window=\{([^}]*)\}')
_CONTRACTED = re.compile(r'lhs_contracting_dims=\{([\d,]*)\}')


def count(module: compiled_module.Module, entry: str) -> float:
  """Returns the operations of a call."""
  of_one = lambda each: collections.Counter({FLOPS: _of_one(each, module)})
  return compiled_module.total(module, entry, of_one)[FLOPS]


def _of_one(
  instructions: compiled_module.Instructions, module: compiled_module.Module
) -> int:
  """Returns the operations of a call, with its fusions'."""
  arrays = {each.name: each.arrays for each in instructions}
  total = 0
  for each in instructions:
    total += _of_one(compiled_module.fused(each, module), module)
    if each.op in ('convolution', 'dot'):
      left, right = (arrays[name][0].shape for name in each.operands)
      total += _product(each, left, right)
  return total


def _product(
  each: compiled_module.Instruction,
  left: tuple[int, ...],
  right: tuple[int, ...],
) -> int:
  result = each.arrays[0].shape
  labels = _LABELS.search(each.rest)
  if labels is None:  # A dot.
    found = _CONTRACTED.search(each.rest)
    axes = found[1].split(',') if found and found[1] else []
    return 2 * math.prod(result) * math.prod(left[int(axis)] for axis in axes)
  inputs, kernels, outputs = labels.groups()
  window = _WINDOW.search(each.rest)
  attributes = dict(
    part.split('=') for part in (window[1].split() if window else ())
  )
  sizes = attributes.get('size', '').split('x')
  total = 2 * right[kernels.index('i')]
  total *= result[outputs.index('b')] * result[outputs.index('f')]
  for axis in range(len(inputs) - 2):
    own = {name: value.split('x')[axis] for name, value in attributes.items()}
    total *= _num_pairs(
      left[inputs.index(str(axis))],
      int(sizes[axis]),
      result[outputs.index(str(axis))],
      own,
    )
  return total


def _num_pairs(
  size: int, window: int, result: int, attributes: Mapping[str, str]
) -> int:
  """Returns how often a place of the window meets no padding, on an axis."""
  stride, spread, spread_window = (
    int(attributes.get(name, 1))
    for name in ('stride', 'lhs_dilate', 'rhs_dilate')
  )
  before = int(attributes.get('pad', '0_0').split('_')[0])
  if window == 1 and stride == 1 and not before:
    return result
  end = (size - 1) * spread
  places = (
    turn * stride + place * spread_window - before
    for turn in range(result)
    for place in range(window)
  )
  return sum(0 <= each <= end and each % spread == 0 for each in places)
