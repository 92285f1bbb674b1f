"""A plan: each program on each slice, as a table or as JSON."""

from collections.abc import Sequence
import re
from typing import Any, NamedTuple

from realm_tf.tpu import chips
from realm_tf.tpu import compiled_module
from realm_tf.tpu import lowering
from realm_tf.tpu import tpu_compiler

_GIGA = 1e9
# As in: Used 20.11G of 15.75G hbm. Or: for HLO temporaries (32.50G) exceeds
# available HBM (15.75G).
_TOO_LARGE = re.compile(
  r'(?:Used |for HLO (\w+) \()([\d.]+\w)\)?'
  r'(?: of | exceeds available HBM \()([\d.]+\w)'
)
_REMEDIES = (
  'model.recompute_activations=true',
  'index.storage_dtype=bfloat16',
  'index.searcher=scann',
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
  """

  name: str
  where: chips.Slice
  batch: int
  compiled: tpu_compiler.Compiled
  problem: str = ''

  @property
  def limits(self) -> dict[str, float]:
    """The least seconds by each limit, as of `chips.roofline`."""
    compiled = self.compiled
    return chips.roofline(
      self.where, compiled.flops, compiled.traffic_bytes, compiled.reduced_bytes
    )

  def as_json(self) -> dict[str, Any]:
    """Returns the row's figures, bytes and seconds of one core."""
    limits = self.limits
    return {
      'program': self.name,
      'topology': self.where.name,
      'cores': self.where.num_cores,
      'batch': self.batch,
      'problem': self.problem,
      'core_memory_bytes': self.where.core_memory,
      **self.compiled._asdict(),
      'roofline_secs': max(limits.values()),
      'sums_secs': limits['sums'],
      'limit': max(limits, key=limits.__getitem__),
    }


def row(
  program: lowering.Program, where: chips.Slice, compiled: tpu_compiler.Compiled
) -> Row:
  """Returns the program's row; its problem is what to change, if anything."""
  needed, memory = compiled.all_bytes, where.core_memory
  parts = {
    'arguments': compiled.argument_bytes,
    'temporaries': compiled.temporary_bytes,
    'code': compiled.code_bytes,
  }
  mostly = max(parts, key=parts.__getitem__)
  if found := _TOO_LARGE.search(compiled.error):
    mostly, *sizes = found.groups(default='')
    needed, memory = (
      float(each.rstrip(''.join(_UNITS))) * _UNITS.get(each[-1], 1)
      for each in sizes
    )
  problem = ''
  if needed > memory:
    part = f', mostly {mostly}' if mostly else ''
    problem = (
      f'{program.name} must fit in the memory of a core of {where.name}. Found '
      f'{needed / _GIGA:.1f} GB{part}, {(needed - memory) / _GIGA:.1f} GB '
      f'above its {memory / _GIGA:.1f}. Try: {"; ".join(program.remedies)}.'
    )
  elif compiled.error:
    first = ' '.join(compiled.error.split())
    problem = f'{program.name} does not compile for {where.name}: {first}'
  return Row(program.name, where, program.batch, compiled, problem)


def together(rows: Sequence[Row]) -> list[Row]:
  """Returns a row for each slice whose cores train and retrieve.

  A core holds the step's variables and two index versions, one of them while it
  loads; step and search follow each other.
  """
  of_slice = {(each.name, each.where): each for each in rows}
  result = []
  for (name, where), step in of_slice.items():
    search = of_slice.get(('retrieval', where))
    if name != 'pretraining' or not search or step.problem or search.problem:
      continue
    one, two = step.compiled, search.compiled
    sums = {
      field: getattr(one, field) + getattr(two, field)
      for field in ('compile_secs', 'code_bytes', 'flops', 'reduced_bytes')
    }
    kinds = {*one.traffic, *two.traffic}
    compiled = one._replace(
      **sums,
      argument_bytes=one.argument_bytes + 2 * two.argument_bytes,
      temporary_bytes=max(one.temporary_bytes, two.temporary_bytes),
      traffic={k: one.traffic.get(k, 0) + two.traffic.get(k, 0) for k in kinds},
    )
    both = 'pretraining+retrieval', None, (), step.batch, _REMEDIES
    result.append(row(lowering.Program(*both), where, compiled))
  return result


def table(rows: Sequence[Row]) -> str:
  """Returns the rows as text: a table for each slice, then its problems."""
  lines = []
  for where in dict.fromkeys(each.where for each in rows):
    share = where.chip.num_cores
    lines.append(
      f'{where.name}: {where.num_cores} cores, each with '
      f'{where.core_memory / _GIGA:.1f} GB, '
      f'{where.chip.flops / share / 1e12:.0f} TFLOP/s and '
      f'{where.chip.bandwidth / share / _GIGA:.0f} GB/s.'
    )
    own = [each for each in rows if each.where == where]
    cells = [_cells(each) for each in own if each.compiled.all_bytes]
    cells = [_HEADER, *cells] if cells else []
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines += [
      '  '.join(
        cell.rjust(width) if i else cell.ljust(width)
        for i, (cell, width) in enumerate(zip(line, widths))
      ).rstrip()
      for line in cells
    ]
    lines += [each.problem for each in own if each.problem]
  return '\n'.join(lines)


def _cells(row: Row) -> tuple[str, ...]:
  compiled, limits = row.compiled, row.limits
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
    f'{compiled.traffic.get(compiled_module.PRODUCTS, 0) / _GIGA:.2f}',
    f'{compiled.reduced_bytes / _GIGA:.2f}',
    f'{limits["sums"]:.4f}',
    f'{max(limits.values()):.4f}',
    max(limits, key=limits.__getitem__),
    f'{compiled.compile_secs:.0f} s',
  )
