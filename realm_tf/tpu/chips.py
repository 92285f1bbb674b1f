"""TPU chips, and the seconds that no program can beat on one of their cores.

A core here is a device of TensorFlow: one of a chip's two TensorCores, or a
whole chip of v5e, v5p and v6e.
"""

import math
from typing import NamedTuple

from realm_tf import errors

_GIB = 2**30


class Chip(NamedTuple):
  """A chip, shared equally by its cores.

  Attributes:
    num_cores: Devices of a chip.
    memory: Bytes of high-bandwidth memory.
    flops: Floating-point operations a second in bfloat16, at the peak.
    bandwidth: Bytes a second between memory and cores, at the peak.
    links: Bytes a second that a chip sends to its neighbours, at the peak.
    slice_of_64: Sides of a slice with 64 cores, or with 64 chips of one core.
  """

  num_cores: int
  memory: float
  flops: float
  bandwidth: float
  links: float
  slice_of_64: str


# v2, and the links of v3: Jouppi et al. 2020, https://doi.org/10.1145/3360307;
# the links of v4: Jouppi et al. 2023, https://arxiv.org/abs/2304.01433. Others,
# each on its page: https://cloud.google.com/tpu/docs/v3, .../v4 to .../v6e.
CHIPS = {
  'v2': Chip(2, 16 * _GIB, 46e12, 700e9, 248e9, '4x8'),
  'v3': Chip(2, 32 * _GIB, 123e12, 900e9, 328e9, '4x8'),
  'v4': Chip(2, 32 * _GIB, 275e12, 1200e9, 300e9, '2x4x4'),
  'v5e': Chip(1, 16e9, 197e12, 819e9, 200e9, '8x8'),
  'v5p': Chip(1, 95e9, 459e12, 2765e9, 600e9, '4x4x4'),
  'v6e': Chip(1, 32e9, 918e12, 1640e9, 400e9, '8x8'),
}


class Slice(NamedTuple):
  """Connected chips of one kind: 'v5e:8x8'."""

  name: str
  chip: Chip
  num_cores: int

  @property
  def core_memory(self) -> float:
    """Bytes of a core's memory."""
    return self.chip.memory / self.chip.num_cores


def parse(name: str) -> list[Slice]:
  """Returns the slices that 'v5e:8x8', a list of these, or 'all' names."""
  if name == 'all':
    return [_slice(f'{kind}:{CHIPS[kind].slice_of_64}') for kind in CHIPS]
  return [_slice(each) for each in name.split(',')]


def _slice(name: str) -> Slice:
  kind, _, topology = name.partition(':')
  sides = topology.split('x')
  if kind not in CHIPS or not all(side.isdecimal() for side in sides):
    raise errors.UserError(
      f'--topology must be a chip and the sides of its slice. Found {name!r}. '
      f'Give one like v5e:8x8, several with commas, or all; chips are '
      f'{", ".join(CHIPS)}.'
    )
  chip = CHIPS[kind]
  num_chips = math.prod(map(int, sides))
  return Slice(name, chip, num_chips * chip.num_cores)


def roofline(
  where: Slice, flops: float, traffic: float, reduced: float = 0.0
) -> dict[str, float]:
  """Returns the least seconds of one core if one limit were alone in its way.

  Williams et al. 2009, https://doi.org/10.1145/1498765.1498785. The limits are
  'arithmetic', 'traffic' and 'sums'.

  Args:
    flops: Floating-point operations of the core.
    traffic: Bytes that the core reads from its memory and writes to it.
    reduced: Bytes of the arrays that are summed over all cores. A chip sends
      each part once to be summed and once to be shared, over all its links.
  """
  chip, number = where.chip, where.num_cores // where.chip.num_cores
  return {
    'arithmetic': flops * chip.num_cores / chip.flops,
    'traffic': traffic * chip.num_cores / chip.bandwidth,
    'sums': 2 * (number - 1) / number * reduced / chip.links,
  }
