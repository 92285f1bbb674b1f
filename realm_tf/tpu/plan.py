"""A plan: each program on each slice, as a table or as JSON.

Also finds the largest batch that a core holds, by bisection over compilations.
"""

from collections.abc import Callable, Sequence
import dataclasses
import re
from typing import Any, NamedTuple

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.tpu import chips
from realm_tf.tpu import compiled_module
from realm_tf.tpu import lowering
from realm_tf.tpu import tpu_compiler

_GIGA = 1e9
# As in: Used 20.11G of 15.75G hbm. Or: for HLO temporaries (32.50G) exceeds
# available HBM (15.75G).
_TOO_LARGE = re.compile(
  r'(?:Used |for HLO (?P<what>\w+) \()(?P<needed>[\d.]+\w)\)?'
  r'(?: of | exceeds available HBM \()(?P<memory>[\d.]+\w)'
)
_UNITS = {'K': 2**10, 'M': 2**20, 'G': 2**30, 'T': 2**40}
# Programs whose section of the config has a batch.
WITH_BATCH = (
  'pretraining', 'finetuning', 'inverse_cloze', 'tagger', 'closed_book'
)  # fmt: skip
_MOST = 2**14  # No search above: a mistake would never end.
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
      'traffic': dict(self.compiled.traffic),
      'roofline_secs': max(limits.values()),
      'sums_secs': limits['sums'],
      'limit': max(limits, key=limits.__getitem__),
    }


def row(
  program: lowering.Lowered, where: chips.Slice, compiled: tpu_compiler.Compiled
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
    needed, memory = (
      float(found[name].rstrip(''.join(_UNITS)))
      * _UNITS.get(found[name][-1], 1)
      for name in ('needed', 'memory')
    )
    mostly = found['what'] or ''
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
  return Row(
    program.name, where, program.batch, compiled, problem, needed > memory
  )


def refused(name: str, where: chips.Slice, problem: str) -> Row:
  """Returns the row of a program that cannot be made for the slice."""
  return Row(name, where, 0, tpu_compiler.Compiled(error=problem), problem)


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


class LargestBatch(NamedTuple):
  """The largest batch of a program on a slice.

  Attributes:
    batch: Rows of a core; 0 if it does not hold one.
    recompute: Value of `model.recompute_activations`.
  """

  name: str
  where: chips.Slice
  recompute: bool
  batch: int

  def as_json(self) -> dict[str, Any]:
    return {
      'program': self.name,
      'topology': self.where.name,
      'recompute_activations': self.recompute,
      'largest_batch': self.batch,
    }

  def as_line(self) -> str:
    return (
      f'{self.name} on {self.where.name} with model.recompute_activations='
      f'{str(self.recompute).lower()}: at most {self.batch} a core, '
      f'{self.name}.batch_size={self.batch * self.where.num_cores}.'
    )


def largest_batch(
  name: str,
  where: chips.Slice,
  config: config_lib.ExperimentConfig,
  recompute: bool,
  plan_one: Callable[[config_lib.ExperimentConfig], Row],
) -> LargestBatch:
  """Returns the largest batch with which a program of `WITH_BATCH` fits.

  Args:
    plan_one: Returns the row of the program with a config.

  Raises:
    UserError: The program does not compile for another reason.
  """
  model = dataclasses.replace(config.model, recompute_activations=recompute)

  def fits(batch: int) -> bool:
    section = dataclasses.replace(
      getattr(config, name), batch_size=batch * where.num_cores
    )
    changed: dict[str, Any] = {name: section, 'model': model}
    found = plan_one(dataclasses.replace(config, **changed))
    if found.problem and not found.is_too_large:
      raise errors.UserError(found.problem)
    return not found.problem

  return LargestBatch(name, where, recompute, bisect(fits))


def bisect(fits: Callable[[int], bool]) -> int:
  """Returns the largest number that fits, at most 2^14; 0 if 1 does not."""
  low, high = 0, 1
  while high <= _MOST and fits(high):
    low, high = high, 2 * high
  while high - low > 1 and low < _MOST:
    middle = (low + high) // 2
    if fits(middle):
      low = middle
    else:
      high = middle
  return low
