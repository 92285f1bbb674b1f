"""Runs a binary with its config; mistakes end with one line and code 2."""

from collections.abc import Callable
import dataclasses
import functools
import gc
import inspect
import logging as py_logging
import os
import runpy
import sys
import traceback
from typing import Any

from . import help_texts
from . import modules
from . import path_flags

from absl import app
from absl import flags
from absl import logging

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.config import config_files

_CONFIG = flags.DEFINE_string(
  'config', None, "Launch module or JSON file; by default the paper's values."
)
_SET = flags.DEFINE_multi_string(
  'set', [], 'Config field to change, as pretraining.batch_size=8'
)
_MODEL_OF = flags.DEFINE_string(
  'model_of', None, "Model directory with the config's model.*, before --set."
)
_SEED = flags.DEFINE_integer('seed', 0, 'Random seed.')


def console():
  """Runs the binary of a console command: bin.answer for realm-answer."""
  name = os.path.basename(sys.argv[0]).removeprefix('realm-').replace('-', '_')
  sys.exit(call(name, sys.argv[1:]))


def call(binary: str, argv: list[str]) -> int:
  """Runs bin.BINARY with the flags `argv`; returns its exit code.

  Its flags are defined in this process, so it must be new, or a new fork.
  """
  name = f'{__package__}.{binary}'
  sys.argv = [name, *argv]
  try:
    runpy.run_module(name, run_name='__main__', alter_sys=True)
    return 0
  except SystemExit as end:
    return int(end.code or 0)
  except BaseException:
    traceback.print_exc()
    return 1
  finally:
    sys.stdout.flush()
    sys.stderr.flush()


def run(main: Callable[[list[str]], None], verbosity: int = logging.INFO):
  """Runs `main`; a user's mistake exits with code 2."""
  help_texts.complete()
  logging.set_verbosity(verbosity)
  logging.use_absl_handler()
  logging.get_absl_handler().python_handler.stream = sys.stdout
  py_logging.getLogger('tensorflow').setLevel('ERROR')
  try:
    app.run(lambda argv: _load_and_run(main, argv), flags_parser=_parse_flags)
  except BrokenPipeError:  # As with `| head`; Python's last flush would fail.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)
  except errors.Stopped as stopped:
    print(stopped)
  except errors.UserError as error:
    print(f'ERROR: {help_texts.as_installed(str(error))}', file=sys.stderr)
    sys.exit(2)


@functools.cache
def config() -> config_lib.ExperimentConfig:
  """Returns the config of --config, --model_of, --set and --seed."""
  given = overrides()
  if flags.FLAGS['seed'].present:
    given += [f'seed={_SEED.value}', f'world.seed={_SEED.value}']
  result = config_lib.ExperimentConfig()
  if _CONFIG.value:
    result = config_files.load(_CONFIG.value)
  if _MODEL_OF.value:
    model = config_files.read(_MODEL_OF.value).model
    result = dataclasses.replace(result, model=model)
  return config_files.override(result, given)


def overrides() -> list[str]:
  """Returns the values of --set."""
  return list(_SET.value)


def check_flags(rule: Callable[..., Any], message: str) -> None:
  """Makes a wrong combination of flags a user's mistake.

  The arguments of `rule` are names of flags; it returns false for a mistake.
  """
  flags.register_multi_flags_validator(
    list(inspect.signature(rule).parameters),
    lambda given: bool(rule(**given)),
    message,
  )


def _parse_flags(argv: list[str]) -> list[str]:
  try:
    rest = flags.FLAGS(argv)
  except flags.Error as error:
    if flags.FLAGS.is_parsed():  # A missing file may name the missing flag.
      path_flags.check()
    message = f'{str(error).rstrip(".")}. See --help.'
    raise errors.UserError(message) from error
  if len(rest) > 1:
    raise errors.UserError(
      f'Flags must begin with --. Found {rest[1]!r}. See --help.'
    )
  return rest


def _load_and_run(main, argv):
  config()  # Reports a wrong key even if the binary reads no config.
  path_flags.check()
  gc.disable()  # To visit the modules' 400,000 objects takes 0.6 s.
  modules.load()
  gc.freeze()
  gc.enable()
  main(argv)
