"""A recipe: stages, and the outputs that connect them.

A stage runs a binary, or a function of the recipe's module, with flags. A flag
that is another stage's output makes that stage a need; `OUTPUT` is the stage's
own output. So a recipe says once what flows where.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
import os
from typing import Any, NamedTuple, Optional

import tqdm

from realm_tf import config as config_lib
from realm_tf.config import config_files


class Output(str):
  """A path that the stage `stage` writes, or, without one, `OUTPUT`."""

  stage: str

  def __new__(cls, path: str, stage: str = ''):  # noqa: D102, as __init__.
    output = super().__new__(cls, path)
    output.stage = stage
    return output

  def __truediv__(self, name: str) -> 'Output':
    return Output(os.path.join(self, name), self.stage)


OUTPUT = Output('.')


class Input(str):
  """A user's file, glob or folder, 'KIND:PATH', or a name without a file."""


Action = str | Callable[..., None]  # A binary's name, or a function.


class Stage(NamedTuple):
  """One process, or two if it has a companion.

  Attributes:
    flags: Name -> value; paths are complete.
    companion: Action that runs at the same time, and its flags.
    needs: Names of stages.
    cost: Seconds on one core, at first; later the last run's seconds count.
  """

  name: str
  action: Action
  flags: dict[str, Any]
  output: Output
  config: Optional[config_lib.ExperimentConfig]
  companion: Optional[tuple[Action, dict[str, Any]]]
  needs: frozenset[str]
  cost: float

  @property
  def argv(self) -> list[str]:
    """Flags of the binary, without --config."""
    return list(arguments(self.flags))


class Show(NamedTuple):
  """A text that is printed as soon as the stages `needs` are done."""

  title: str
  needs: frozenset[str]
  text: Callable[[str], str]


class Recipe:
  """Stages in the order of their needs; a recipe's function fills it.

  Args:
    overrides: 'a.b=value', for `config`.
    finish: Runs the stages of a recipe.
  """

  def __init__(
    self,
    run_dir: str,
    overrides: Sequence[str] = (),
    finish: Callable[['Recipe'], None] = lambda recipe: None,
  ):
    self.run_dir = run_dir
    self.stages: dict[str, Stage] = {}
    self.shows: list[Show] = []
    self._overrides = overrides
    self._finish = finish

  @property
  def cores(self) -> int:
    """Cores that stages may use."""
    return len(os.sched_getaffinity(0))

  def config(
    self, config: config_lib.ExperimentConfig
  ) -> config_lib.ExperimentConfig:
    """Returns `config` with --seed and --set."""
    return config_files.override(config, self._overrides)

  def stage(
    self,
    name: str,
    action: Action,
    config: Optional[config_lib.ExperimentConfig] = None,
    *,
    at: str = '',
    companion: Optional[tuple[Action, dict[str, Any]]] = None,
    needs: Iterable[Output] = (),
    cost: float = 10.0,
    **flags: Any,
  ) -> Output:
    """Adds a stage, unless it is there already, and returns its output.

    Its needs are the stages whose outputs it names, or that lie in these.

    Args:
      config: Becomes a file for --config.
      at: Path of the output in the run directory, or in another output; by
        default `name`.
      needs: Outputs that the stage reads without a flag.
    """
    path = (
      at if isinstance(at, Output) else os.path.join(self.run_dir, at or name)
    )
    output = Output(path, name)
    flags = _resolved(flags, output)
    read = [at, *needs, *values(flags)]
    if companion:
      companion = companion[0], _resolved(companion[1], output)
      read += values(companion[1])
    read = [value for value in read if isinstance(value, Output)]
    found = {value.stage for value in read} - {name}
    found |= {
      other.name
      for other in self.stages.values()
      if other.output.startswith(tuple(f'{value}/' for value in read))
    } - {name}
    stage = Stage(
      name, action, flags, output, config, companion, frozenset(found), cost
    )
    known = self.stages.setdefault(name, stage)
    if known._replace(needs=stage.needs) != stage:
      raise ValueError(f'Stages must have distinct names. Found two {name!r}.')
    return output

  def show(
    self, title: str, after: Iterable[Output], text: Callable[[str], str]
  ) -> None:
    """Prints `text(run_dir)` as soon as the outputs `after` are there."""
    needs = frozenset(output.stage for output in after)
    self.shows.append(Show(title, needs, text))

  def say(self, text: str) -> None:
    """Prints above the display."""
    tqdm.tqdm.write(text)

  def finish(self) -> None:
    """Runs the stages so far; later ones may depend on their results."""
    self._finish(self)


def arguments(flags: dict[str, Any]) -> Iterator[str]:
  """Yields '--name=value'; a list repeats its flag, None and '' are no flag."""
  for name, value in flags.items():
    for item in value if isinstance(value, list) else [value]:
      if isinstance(item, bool):
        yield f'--{name}' if item else f'--no{name}'
      elif item not in (None, ''):
        yield f'--{name}={item}'


def _resolved(flags: dict[str, Any], output: Output) -> dict[str, Any]:
  """Returns `flags` with the path of `output` in the place of OUTPUT."""

  def resolve(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
      return [resolve(item) for item in value]
    if isinstance(value, Output) and not value.stage:
      return Output(os.path.normpath(os.path.join(output, value)), output.stage)
    return value

  return {name: resolve(value) for name, value in flags.items()}


def values(flags: dict[str, Any]) -> Iterator[Any]:
  """Yields the values of flags, and the items of lists."""
  for value in flags.values():
    yield from value if isinstance(value, list) else [value]
