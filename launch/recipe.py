"""A recipe: stages, and the outputs that connect them.

A stage runs a binary, or a function of the recipe's module, with flags. A flag
that is another stage's output makes that stage a need; `OUTPUT` is the stage's
own output. So a recipe says once what flows where.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
import os
from typing import Any, NamedTuple

from realm_tf import config as config_lib
from realm_tf import machine
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


USUAL_COST = 10.0  # Of a stage that is not long.
Action = str | Callable[..., None]  # A binary's name, or a function.
Run = tuple[Action, dict[str, Any]]  # With its flags; paths are complete.


class Stage(NamedTuple):
  """One process, or two if it has a companion.

  Attributes:
    runs: The stage's own run, and its companion's.
    needs: Names of stages.
    cost: Seconds on one core, until a run is measured; `USUAL_COST`, a guess,
      is compared with no run.
    alone: Whether the stage runs without another one, with all cores.
  """

  name: str
  runs: list[Run]
  output: Output
  config: config_lib.ExperimentConfig | None
  needs: frozenset[str]
  cost: float
  alone: bool = False

  @property
  def action(self) -> Action:
    """Binary or function."""
    return self.runs[0][0]

  @property
  def flags(self) -> dict[str, Any]:
    """Flags of `action`."""
    return self.runs[0][1]


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
    self.run_dir = os.path.normpath(run_dir)
    self.stages: dict[str, Stage] = {}
    self.shows: list[Show] = []
    self._overrides = overrides
    self._finish = finish

  @property
  def cores(self) -> int:
    """Cores that stages may use."""
    return machine.cores()

  def config(
    self, config: config_lib.ExperimentConfig
  ) -> config_lib.ExperimentConfig:
    """Returns `config` with --seed and --set."""
    return config_files.override(config, self._overrides)

  def stage(
    self,
    name: str,
    action: Action,
    config: config_lib.ExperimentConfig | None = None,
    *,
    at: str = '',
    companion: Run | None = None,
    needs: Iterable[Output] = (),
    cost: float = USUAL_COST,
    alone: bool = False,
    **flags: Any,
  ) -> Output:
    """Adds a stage, unless it is there already, and returns its output.

    Its needs are the stages whose outputs it names, or that lie in these.

    Args:
      config: Becomes a file for --config.
      at: Path of the output in the run directory, or in another output; by
        default `name`.
      companion: Runs at the same time.
      needs: Outputs that the stage reads without a flag.
    """
    is_inside = isinstance(at, Output)
    path = at if is_inside else os.path.join(self.run_dir, at or name)
    output = Output(os.path.normpath(path), name)
    runs = [
      (each, {flag: _resolved(value, output) for flag, value in given.items()})
      for each, given in filter(None, [(action, flags), companion])
    ]
    values = [value for _, given in runs for value in given.values()]
    needed = self._needs([at, *needs, *values]) - {name}
    stage = Stage(name, runs, output, config, needed, cost, alone)
    known = self.stages.setdefault(name, stage)
    if known._replace(needs=needed) != stage:
      raise ValueError(f'Stages must have distinct names. Found two {name!r}.')
    return output

  def _needs(self, read: Iterable[Any]) -> frozenset[str]:
    """Returns the stages that write one of `read`, or a file in it."""
    outputs = [
      item
      for value in read
      for item in _items(value)
      if isinstance(item, Output)
    ]
    folders = tuple(f'{output}/' for output in outputs)
    inside = [n for n, s in self.stages.items() if s.output.startswith(folders)]
    return frozenset([*inside, *(output.stage for output in outputs)])

  def show(
    self, title: str, after: Iterable[Output], text: Callable[[str], str]
  ) -> None:
    """Prints `text(run_dir)` as soon as the outputs `after` are there."""
    needs = frozenset(output.stage for output in after)
    self.shows.append(Show(title, needs, text))

  def finish(self) -> None:
    """Runs the stages so far; later ones may depend on their results."""
    self._finish(self)


def _items(value: Any) -> list[Any]:
  """Returns the values of a flag that may be repeated."""
  return value if isinstance(value, list) else [value]


def arguments(flags: dict[str, Any]) -> Iterator[str]:
  """Yields '--name=value'; a list repeats its flag, None and '' are no flag."""
  for name, value in flags.items():
    for item in _items(value):
      if isinstance(item, bool):
        yield f'--{name}' if item else f'--no{name}'
      elif item not in (None, ''):
        yield f'--{name}={item}'


def _resolved(value: Any, output: Output) -> Any:
  """Returns a flag's value, with `output` in the place of OUTPUT."""
  if isinstance(value, list):
    return [_resolved(item, output) for item in value]
  if isinstance(value, Output) and not value.stage:
    return Output(os.path.normpath(output / value), output.stage)
  return value
