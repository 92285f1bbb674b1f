"""Runs a recipe: its command line, then its stages.

`doit` does not serve for the stages. Its workers live on from task to task, so
TensorFlow keeps the first task's threads; it waits forever for a worker that is
killed; whether a task runs is known only when it is reached; and it keeps no
older result, nor goes on inside a task.
"""

import argparse
from collections.abc import Callable, Sequence
import contextlib
import inspect
import json
import os
import signal
import sys
from typing import Any, Optional

from . import schedule
from . import stage_records
from .recipe import OUTPUT as OUTPUT
from .recipe import Input as Input
from .recipe import Output as Output
from .recipe import Recipe as Recipe
from .recipe import Stage as Stage

from realm_tf import errors


class _Unfinished(Exception):  # noqa: N818, no error.
  """Stages must run before a recipe can list the rest."""


def run(
  stages: Callable[..., None],
  run_dir: str,
  *positional: Any,
  seed: int = 0,
  overrides: Sequence[str] = (),
  dry_run: bool = False,
  **flags: Any,
) -> Recipe:
  """Runs the stages that `stages(recipe, ...)` lists, in `run_dir`.

  Args:
    positional: Arguments of `stages`, as are `flags`.
    overrides: Config fields to change, as 'pretraining.batch_size=8'.
    dry_run: Only prints what would run, and why.
  """
  if seed:
    overrides = [f'seed={seed}', *overrides]
  if dry_run:
    recipe = Recipe(run_dir, overrides, _require_done)
    with contextlib.suppress(_Unfinished):
      stages(recipe, *positional, **flags)
    print('\n'.join(schedule.reasons(recipe)))
    return recipe
  recipe = Recipe(run_dir, overrides, schedule.run)
  with stage_records.locked(run_dir):
    stages(recipe, *positional, **flags)
    recipe.finish()
  return recipe


def plan(
  stages: Callable[..., None], run_dir: str, *positional: Any, **flags: Any
) -> list[Stage]:
  """Returns the stages that a recipe lists; runs none."""
  recipe = Recipe(run_dir, finish=_require_done)
  with contextlib.suppress(_Unfinished):
    stages(recipe, *positional, **flags)
  return list(recipe.stages.values())


def write_parts(output: str, **parts: str | float) -> None:
  """Names the parts of a run for realm_tf.load; an action of a stage."""
  folder = os.path.dirname(output)
  for name, part in parts.items():
    if isinstance(part, str):
      parts[name] = os.path.relpath(part, folder)
  with open(output, 'w') as file:
    json.dump(parts, file)


def _require_done(recipe: Recipe) -> None:
  if any(each.reason for each in stage_records.plans(recipe).values()):
    raise _Unfinished


def main(
  doc: str,
  stages: Callable[..., None],
  summary: Optional[Callable[[str], str]] = None,
  *,
  run_dir: str = '',
  argv: Optional[Sequence[str]] = None,
) -> None:
  """Runs a recipe from the command line, and ends the process.

  The parameters of `stages` after the first are its arguments, and its
  keyword-only parameters its flags.

  Args:
    summary: Run directory -> the text to end with.
    run_dir: Default of RUN_DIR, the last argument.
  """
  given = vars(_parser(doc, stages, run_dir).parse_args(argv))
  names = list(inspect.signature(stages).parameters.values())[1:]
  positional = [
    given.pop(p.name) for p in names if p.kind is not p.KEYWORD_ONLY
  ]
  for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, _interrupt)
  try:
    recipe = run(stages, given.pop('run_dir'), *positional, **given)
    if summary and not given['dry_run']:
      print(summary(recipe.run_dir))
  except errors.UserError as error:
    sys.exit(_error(str(error)))
  except errors.Stopped as stopped:
    print(stopped)
    sys.exit(130)


def _interrupt(*_):
  """Stops the run; a second signal must not stop the stopping."""
  for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
  raise KeyboardInterrupt


class _Parser(argparse.ArgumentParser):
  """Reports a mistake in one line."""

  def error(self, message):
    sys.exit(_error(f'{message.rstrip(".")}. See --help.'))


def _parser(doc, stages, run_dir) -> _Parser:
  parser = _Parser(
    description=doc,
    formatter_class=argparse.RawDescriptionHelpFormatter,
    allow_abbrev=False,
  )
  for p in list(inspect.signature(stages).parameters.values())[1:]:
    if p.kind is not p.KEYWORD_ONLY:
      parser.add_argument(p.name, type=p.annotation)
    elif p.annotation is bool:
      parser.add_argument(f'--{p.name}', action=argparse.BooleanOptionalAction)
    else:
      parser.add_argument(f'--{p.name}', type=p.annotation, default=p.default)
  parser.add_argument(
    'run_dir', nargs='?' if run_dir else None, default=run_dir
  )
  parser.add_argument('--seed', type=int, default=0, help='Seed of training.')
  parser.add_argument(
    '--set',
    dest='overrides',
    action='append',
    default=[],
    metavar='A.B=C',
    help='Config field to change, as pretraining.batch_size=8.',
  )
  parser.add_argument(
    '--dry_run', action='store_true', help='Print what would run, and why.'
  )
  return parser


def _error(message: str) -> int:
  print(f'ERROR: {" ".join(message.split())}', file=sys.stderr)
  return 2
