"""What all binaries share: common flags, and mistakes that end in one line.

Import it before anything that imports TensorFlow, as it quiets the logs.
"""

from collections.abc import Callable, Iterable
import ctypes
import logging as py_logging
import os
import sys

# Read when TensorFlow is loaded; a user's own setting wins.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('TF_USE_LEGACY_KERAS', '1')

from absl import app
from absl import flags
from absl import logging
import tqdm

from realm_tf import config as config_lib
from realm_tf import config_io
from realm_tf import errors

_CONFIG = flags.DEFINE_string(
  'config', None, "Launch module, as launch/tiny.py; else the paper's values."
)
_SET = flags.DEFINE_multi_string(
  'set', [], 'a.b=value: a field of the config and its value; repeatable.'
)
_SEED = flags.DEFINE_integer('seed', 0, 'Of every random choice.')


def _keep_freed_memory():
  """Makes glibc keep large freed blocks, in one arena for all threads.

  Clearing new ones costs a sixth of a small model's step on CPU.
  """
  try:
    mallopt = ctypes.CDLL('libc.so.6').mallopt
  except (OSError, AttributeError):  # Another C library.
    return
  for name, value in ((-3, 1 << 30), (-1, (1 << 31) - 1), (-8, 1)):
    mallopt(name, value)  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_ARENA_MAX.


def run(main: Callable[[list[str]], None], verbosity: int = logging.INFO):
  """Runs `main`, with logs on stdout; a user's mistake exits with code 2."""
  _keep_freed_memory()
  logging.set_verbosity(verbosity)
  logging.use_absl_handler()
  logging.get_absl_handler().python_handler.stream = sys.stdout
  py_logging.getLogger('tensorflow').setLevel('ERROR')
  app.run(lambda argv: _run_main(main, argv), flags_parser=_parse_flags)


def load_config() -> config_lib.ExperimentConfig:
  """Returns the config of --config, --set and, where given, --seed."""
  given = overrides()
  if flags.FLAGS['seed'].present:
    given += [f'seed={_SEED.value}', f'world.seed={_SEED.value}']
  if _CONFIG.value:
    return config_io.load(_CONFIG.value, given)
  return config_io.override(config_lib.ExperimentConfig(), given)


def overrides() -> list[str]:
  """Returns --set as it was given."""
  return list(_SET.value)


def progress(items: Iterable, what: str, unit: str) -> Iterable:
  """Returns `items` with a progress bar, on stdout: stderr is for errors."""
  return tqdm.tqdm(items, what, unit=f' {unit}', mininterval=1, file=sys.stdout)


def _parse_flags(argv: list[str]) -> list[str]:
  try:
    rest = flags.FLAGS(argv)
  except flags.Error as error:
    _exit(f'{str(error).rstrip(".")}. See --help.')
  if len(rest) > 1:
    _exit(f'Flags must begin with --; got {rest[1]!r}. See --help.')
  return rest


def _run_main(main, argv):
  try:
    load_config()  # A wrong key is a mistake even where no key is read.
    main(argv)
  except errors.Stopped as stopped:
    print(stopped)
  except errors.UserError as error:
    _exit(str(error))


def _exit(message: str):
  print(f'ERROR: {" ".join(message.split())}', file=sys.stderr)
  sys.exit(2)
