"""Runs a binary: logs on stdout, a user's mistake in one line, code 2."""

from collections.abc import Callable, Iterable
import gc
import inspect
import logging as py_logging
import os
import re
import runpy
import sys
from typing import Any

from . import config_flags

from absl import app
from absl import flags
from absl import logging
import tqdm

from realm_tf import errors


def console():
  """Runs the binary that a console command is called after, as realm-answer."""
  name = os.path.basename(sys.argv[0]).removeprefix('realm-').replace('-', '_')
  runpy.run_module(f'{__package__}.{name}', run_name='__main__', alter_sys=True)


def run(main: Callable[[list[str]], None], verbosity: int = logging.INFO):
  """Runs `main`; a user's mistake exits with code 2."""
  # 400,000 objects of imported modules, which each full collection, and the one
  # at exit, would visit: a seventh of evaluating 2,000 questions.
  gc.freeze()
  _complete_help()
  logging.set_verbosity(verbosity)
  logging.use_absl_handler()
  logging.get_absl_handler().python_handler.stream = sys.stdout
  py_logging.getLogger('tensorflow').setLevel('ERROR')
  app.run(lambda argv: _run_main(main, argv), flags_parser=_parse_flags)


def check_flags(rule: Callable[..., Any], message: str) -> None:
  """Makes a wrong combination of flags a user's mistake.

  Args:
    rule: Function whose arguments are names of flags, and get their values;
      returns something false for a mistake.
    message: The line that the user sees.
  """
  flags.register_multi_flags_validator(
    list(inspect.signature(rule).parameters),
    lambda given: bool(rule(**given)),
    message,
  )


def progress(items: Iterable, what: str, unit: str) -> Iterable:
  """Returns `items` with a progress bar, on stdout: stderr is for errors."""
  return tqdm.tqdm(items, what, unit=f' {unit}', mininterval=1, file=sys.stdout)


def _complete_help():
  """Lists flags of the shared modules in --help, beside the binary's own."""
  main = sys.modules['__main__']
  main.__doc__ = _as_installed(main.__doc__)
  for module, defined in flags.FLAGS.flags_by_module_dict().items():
    if module == sys.argv[0] or module.rpartition('.')[0] == __package__:
      for flag in defined:
        flag.help = _as_installed(flag.help)
        flags.FLAGS.register_key_flag_for_module(sys.argv[0], flag)


def _as_installed(text: str) -> str:
  """Returns `text` with realm-answer for bin.answer outside of a checkout."""
  if __package__ == 'bin':
    return text
  return re.sub(
    r'(?:python -m )?(?<![\w/.-])bin\.(\w+)',
    lambda match: f'realm-{match[1].replace("_", "-")}',
    text,
  )


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
  print(f'ERROR: {_as_installed(" ".join(message.split()))}', file=sys.stderr)
  sys.exit(2)
