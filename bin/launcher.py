"""What all binaries share: common flags, and mistakes that end in one line.

Import it, or config_flags, before anything that imports TensorFlow: they quiet
the logs.
"""

from collections.abc import Callable, Iterable
import ctypes
import logging as py_logging
import sys

from bin import config_flags

from absl import app
from absl import flags
from absl import logging
import tqdm

from realm_tf import errors


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
    config_flags.load()  # A wrong key is a mistake even where no key is read.
    main(argv)
  except errors.Stopped as stopped:
    print(stopped)
  except errors.UserError as error:
    _exit(str(error))


def _exit(message: str):
  print(f'ERROR: {" ".join(message.split())}', file=sys.stderr)
  sys.exit(2)
