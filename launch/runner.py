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
import time
from typing import Any

from . import schedule
from . import stage_records
from .recipe import OUTPUT as OUTPUT
from .recipe import Input as Input
from .recipe import Output as Output
from .recipe import Recipe as Recipe

from realm_tf import errors
from realm_tf import process
from realm_tf.run import run_lock


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
  recipe = Recipe(
    run_dir, overrides, _require_done if dry_run else schedule.run
  )
  with contextlib.suppress(_Unfinished):
    stages(recipe, *positional, **flags)
    recipe.finish()
  if dry_run:
    for name, plan in stage_records.plans(recipe).items():
      why = f'would run: {plan.reason}' if plan.reason else 'done'
      print(f'{name}: {why}')
  # If a stage ran, its lock has said so already.
  run_lock.tell_of_other_code(run_dir, run_lock.last_code(run_dir))
  return recipe


def _require_done(recipe: Recipe) -> None:
  if not stage_records.is_done(recipe):
    raise _Unfinished


def write_parts(output: str, **parts: Any) -> None:
  """Names the parts of a run for realm_tf.load; an action of a stage."""
  folder = os.path.dirname(output)
  for name in [name for name in parts if name.endswith('_dir')]:
    parts[name] = parts[name] and os.path.relpath(parts[name], folder)
  with open(output, 'w') as file:
    json.dump({n: p for n, p in parts.items() if p not in ('', None)}, file)


def main(
  doc: str,
  stages: Callable[..., None],
  summary: Callable[[Recipe], str] | None = None,
  *,
  run_dir: str = '',
) -> None:
  """Runs a recipe from the command line, and ends the process.

  The parameters of `stages` after the first are its arguments, and its
  keyword-only parameters its flags.

  Args:
    summary: Recipe -> the text to end with.
    run_dir: Default of RUN_DIR, the last argument.
  """
  process.begin()
  begun = time.monotonic()
  with process.ending('Stopped. The same command goes on.'):
    given = vars(_parser(doc, stages, run_dir).parse_args())
    # SIGTERM ends the run as Ctrl-C does.
    with process.handling(_interrupt, signal.SIGINT, signal.SIGTERM):
      recipe = run(stages, **given)
    if not given['dry_run']:
      print(f'All took {schedule.in_words(time.monotonic() - begun)}.')
      if summary:
        print(summary(recipe))


def _interrupt(*_):
  """Stops the run; a second signal must not stop the stopping."""
  for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
  process.interrupt()


class _Parser(argparse.ArgumentParser):
  """Reports a mistake in one line."""

  def error(self, message):
    raise errors.UserError(f'{message.rstrip(".")}. See --help.')


def _parser(doc: str, stages: Callable[..., None], run_dir: str) -> _Parser:
  parser = _Parser(
    description=doc,
    formatter_class=argparse.RawDescriptionHelpFormatter,
    allow_abbrev=False,
  )
  add = parser.add_argument
  for p in list(inspect.signature(stages).parameters.values())[1:]:
    if p.kind is not p.KEYWORD_ONLY:
      add(p.name)
    elif p.annotation is bool:
      add(f'--{p.name}', action='store_true')
    else:
      add(f'--{p.name}', type=p.annotation, default=p.default)
  add('run_dir', nargs='?' if run_dir else None, default=run_dir)
  add('--seed', type=int, default=0, help='Seed of training.')
  add(
    '--set',
    dest='overrides',
    action='append',
    default=[],
    metavar='A.B=C',
    help='Config field to change, as pretraining.batch_size=8.',
  )
  add('--dry_run', action='store_true', help='Print what would run, and why.')
  return parser
