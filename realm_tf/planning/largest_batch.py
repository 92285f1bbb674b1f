"""Finds the largest batch that a core holds, by bisection over compilations."""

from collections.abc import Callable
import dataclasses
from typing import Any, NamedTuple

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.planning import chips
from realm_tf.planning import plan

# Programs whose section of the config has a batch.
NAMES = ('pretraining', 'finetuning', 'inverse_cloze', 'tagger', 'closed_book')
_MOST = 2**14  # No search above: a mistake would never end.

# (config, cores) -> the program's row.
PlanOne = Callable[[config_lib.ExperimentConfig], plan.Row]


class Found(NamedTuple):
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


def find(
  name: str,
  where: chips.Slice,
  config: config_lib.ExperimentConfig,
  recompute: bool,
  plan_one: PlanOne,
) -> Found:
  """Returns the largest batch with which a program fits.

  Raises:
    UserError: The program does not compile for another reason.
  """

  def fits(batch: int) -> bool:
    found = plan_one(
      _with_batch(config, name, batch * where.num_cores, recompute)
    )
    if found.problem and not found.is_too_large:
      raise errors.UserError(found.problem)
    return not found.problem

  return Found(name, where, recompute, bisect(fits))


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


def _with_batch(
  config: config_lib.ExperimentConfig,
  name: str,
  batch_size: int,
  recompute: bool,
) -> config_lib.ExperimentConfig:
  section = dataclasses.replace(getattr(config, name), batch_size=batch_size)
  model = dataclasses.replace(config.model, recompute_activations=recompute)
  changed: dict[str, Any] = {name: section, 'model': model}
  return dataclasses.replace(config, **changed)
