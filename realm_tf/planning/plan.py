"""A plan: each program on each slice, as a table or as JSON."""

from collections.abc import Iterable, Sequence
import re
from typing import Any, NamedTuple

from realm_tf.planning import chips
from realm_tf.planning import hbm_traffic
from realm_tf.planning import lowering
from realm_tf.planning import tpu_compiler

_GIGA = 1e9
# As in: Used 20.11G of 15.75G hbm. Or: for HLO temporaries (32.50G) exceeds
# available HBM (15.75G).
_TOO_LARGE = re.compile(
  r'(?:Used |for HLO (?P<what>\w+) \()(?P<needed>[\d.]+\w)\)?'
  r'(?: of | exceeds available HBM \()(?P<memory>[\d.]+\w)'
)
_UNITS = {'K': 2**10, 'M': 2**20, 'G': 2**30, 'T': 2**40}
_HEADER = (
  'program', 'a core', 'GB', 'of', 'arguments', 'temporaries', 'code', 'TFLOP',
  'traffic GB', 'of products', 'summed', 'in', 'seconds', 'limit',
  'compiled in',
)  # fmt: skip


class Row(NamedTuple):
  """A program on a core of a slice.

  Attributes:
    problem: One line: why the program does not run there, or ''.
    is_too_large: Whether the problem is the memory.
  """

  name: str
  where: chips.Slice
  batch: int
  compiled: tpu_compiler.Compiled
  problem: str = ''
  is_too_large: bool = False

  @property
  def roofline(self) -> chips.Roofline:
    compiled = self.compiled
    return chips.roofline(
      self.where, compiled.flops, compiled.traffic_bytes, compiled.reduced_bytes
    )

  def as_json(self) -> dict[str, Any]:
    """Returns the row's figures, bytes and seconds of one core."""
    return {
      'program': self.name,
      'topology': self.where.name,
      'cores': self.where.num_cores,
      'batch': self.batch,
      'problem': self.problem,
      'core_memory_bytes': self.where.core_memory,
      **self.compiled._asdict(),
      'traffic': dict(self.compiled.traffic),
      'roofline_secs': self.roofline.seconds,
      'sums_secs': self.roofline.sums,
      'limit': self.roofline.limit,
    }


def row(
  program: lowering.Lowered, where: chips.Slice, compiled: tpu_compiler.Compiled
) -> Row:
  """Returns the program's row; its problem is what to change, if anything."""
  needed, memory = compiled.all_bytes, where.core_memory
  mostly = _largest_part(compiled)
  found = _TOO_LARGE.search(compiled.error)
  if found:
    needed, memory = _bytes(found['needed']), _bytes(found['memory'])
    mostly = found['what'] or ''
  problem = ''
  if needed > memory:
    problem = _too_large(program, where, mostly, needed, memory)
  elif compiled.error:
    first = ' '.join(compiled.error.split())
    problem = f'{program.name} does not compile for {where.name}: {first}'
  return Row(
    program.name, where, program.batch, compiled, problem, needed > memory
  )


def refused(name: str, where: chips.Slice, problem: str) -> Row:
  """Returns the row of a program that cannot be made for the slice."""
  return Row(name, where, 0, tpu_compiler.Compiled(error=problem), problem)


def table(rows: Sequence[Row]) -> str:
  """Returns the rows as text: a table for each slice, then its problems."""
  slices = dict.fromkeys(each.where for each in rows)
  return '\n'.join(
    _slice_table(where, [each for each in rows if each.where == where])
    for where in slices
  )


def _slice_table(where: chips.Slice, rows: Sequence[Row]) -> str:
  share = where.chip.num_cores
  lines = [
    f'{where.name}: {where.num_cores} cores, each with '
    f'{where.core_memory / _GIGA:.1f} GB, '
    f'{where.chip.flops / share / 1e12:.0f} TFLOP/s and '
    f'{where.chip.bandwidth / share / _GIGA:.0f} GB/s.'
  ]
  shown = [each for each in rows if each.compiled.all_bytes]
  lines += _aligned([_HEADER, *map(_cells, shown)] if shown else [])
  return '\n'.join([*lines, *(each.problem for each in rows if each.problem)])


def _cells(row: Row) -> tuple[str, ...]:
  compiled, roofline = row.compiled, row.roofline
  return (
    row.name,
    str(row.batch),
    f'{compiled.all_bytes / _GIGA:.2f}',
    f'{row.where.core_memory / _GIGA:.1f}',
    f'{compiled.argument_bytes / _GIGA:.2f}',
    f'{compiled.temporary_bytes / _GIGA:.2f}',
    f'{compiled.code_bytes / _GIGA:.2f}',
    f'{compiled.flops / 1e12:.3f}',
    f'{compiled.traffic_bytes / _GIGA:.2f}',
    f'{compiled.traffic.get(hbm_traffic.PRODUCTS, 0) / _GIGA:.2f}',
    f'{compiled.reduced_bytes / _GIGA:.2f}',
    f'{roofline.sums:.4f}',
    f'{roofline.seconds:.4f}',
    roofline.limit,
    f'{compiled.compile_secs:.0f} s',
  )


def _aligned(cells: Sequence[Sequence[str]]) -> Iterable[str]:
  widths = [max(map(len, column)) for column in zip(*cells)]
  for line in cells:
    first, *rest = (
      cell.ljust(width) if i == 0 else cell.rjust(width)
      for i, (cell, width) in enumerate(zip(line, widths))
    )
    yield '  '.join([first, *rest]).rstrip()


def _too_large(
  program: lowering.Lowered,
  where: chips.Slice,
  mostly: str,
  needed: float,
  memory: float,
) -> str:
  """Returns the line for a program that needs more than a core's memory."""
  part = f', mostly {mostly}' if mostly else ''
  return (
    f'{program.name} must fit in the memory of a core of {where.name}. Found '
    f'{needed / _GIGA:.1f} GB{part}, {(needed - memory) / _GIGA:.1f} GB '
    f'above its {memory / _GIGA:.1f}. Try: {"; ".join(program.remedies)}.'
  )


def _largest_part(compiled: tpu_compiler.Compiled) -> str:
  parts = {
    'arguments': compiled.argument_bytes,
    'temporaries': compiled.temporary_bytes,
    'code': compiled.code_bytes,
  }
  return max(parts, key=parts.__getitem__)


def _bytes(text: str) -> float:
  """Returns the bytes of '15.75G'."""
  unit = _UNITS.get(text[-1], 1)
  return float(text.rstrip(''.join(_UNITS))) * unit
