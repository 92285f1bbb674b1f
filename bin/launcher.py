"""Runs a binary with its config; mistakes end with one line and code 2."""

from collections.abc import Callable, Sequence
import gc
import inspect
import logging as py_logging
import os
import re
import runpy
import signal
import sys
import traceback
from typing import Any

from . import config_flags
from . import modules

from absl import app
from absl import flags
from absl import logging

from realm_tf import errors
from realm_tf import input_files
from realm_tf import output_files
from realm_tf import process

ALL_FIELDS = ('',)  # Of `run`: the prefix of all.
_AT_HOME = re.compile('^\ufeff|(?<==)~(?=/|$)')
# Flags of files, with their help; flags of outputs, and whether they are files.
_EXISTING: list[tuple[flags.FlagHolder[Any], str]] = []
_NEW: dict[str, bool] = {}


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


def run(
  main: Callable[[list[str]], None],
  verbosity: int = logging.INFO,
  *,
  reads: Sequence[str] | Callable[[], Sequence[str]] = (),
  sets: tuple[str, ...] = (),
):
  """Runs `main`; a user's mistake exits with code 2.

  Args:
    reads: Prefixes of the fields that it reads of `config()`, or a function
      that returns them once the flags are parsed; by default none.
    sets: Prefixes of fields of a model's config that --set changes.
  """
  process.begin()
  _complete_help()
  logging.set_verbosity(verbosity)
  logging.use_absl_handler()
  logging.get_absl_handler().python_handler.stream = sys.stdout
  py_logging.getLogger('tensorflow').setLevel('ERROR')
  with process.ending('Interrupted.', _as_installed):
    app.run(
      lambda argv: _load_and_run(main, argv, reads, sets),
      flags_parser=_parse_flags,
    )


def check_flags(rule: Callable[..., Any], message: str) -> None:
  """Makes a wrong combination of flags a user's mistake.

  The arguments of `rule` are names of flags; it returns false for a mistake.
  """
  flags.register_multi_flags_validator(
    list(inspect.signature(rule).parameters),
    lambda given: bool(rule(**given)),
    message,
  )


def existing_path(
  name: str,
  text: str,
  *,
  default: Any = None,
  required: bool = False,
  many: bool = False,
) -> flags.FlagHolder[Any]:
  """Defines a flag; without its files, the binary ends before any work."""
  kind = flags.DEFINE_multi_string if many else flags.DEFINE_string
  holder = kind(name, default, text, required=required)
  _EXISTING.append((holder, text))
  return holder


def new_path(
  name: str, text: str, *, required: bool = True, is_file: bool = False
) -> flags.FlagHolder[Any]:
  """Defines a flag of a directory or a file to write, checked before work."""
  _NEW[name] = is_file
  return flags.DEFINE_string(name, None, text, required=required)


def _complete_help() -> None:
  """Adds the shared modules' flags to the binary's --help."""
  main = sys.modules['__main__']
  main.__doc__ = _as_installed(main.__doc__ or '')
  for module, defined in flags.FLAGS.flags_by_module_dict().items():
    if module == sys.argv[0] or module.rpartition('.')[0] == __package__:
      for flag in defined:
        flag.help = _as_installed(flag.help)
        flags.FLAGS.register_key_flag_for_module(sys.argv[0], flag)


def _as_installed(text: str) -> str:
  """Writes bin.answer as realm-answer, unless run from a checkout."""
  if __package__ == 'bin':
    return text
  return re.sub(
    r'(?:python -m )?(?<![\w/.-])bin\.(\w+)',
    lambda match: f'realm-{match[1].replace("_", "-")}',
    text,
  )


def _parse_flags(argv: list[str]) -> list[str]:
  try:
    argv = flags.FLAGS.read_flags_from_files(argv)
    '\n'.join(argv).encode()
    # A file may begin with a mark; shells do not expand a ~ after =.
    argv = [
      _AT_HOME.sub(lambda m: os.path.expanduser(m[0].strip('\ufeff')), each)
      for each in argv
    ]
    rest = flags.FLAGS(argv)
  except SystemExit:  # After --help, which is no mistake; absl exits with 1.
    sys.exit(0)
  except UnicodeError as error:
    raise errors.UserError(
      f'Flags must be UTF-8. Found: {error!s:.60}. Rename or convert the file.'
    ) from error
  except flags.Error as error:
    if flags.FLAGS.is_parsed():  # A missing file may name the missing flag.
      _check_files()
    message = f'{str(error).rstrip(".")}. See --help.'
    raise errors.UserError(message) from error
  if len(rest) > 1:
    raise errors.UserError(
      f'Flags must begin with --. Found {rest[1]!r}. See --help.'
    )
  return rest


def _load_and_run(main, argv, reads, sets):
  config_flags.config()  # Reports a wrong key in any binary.
  config_flags.check(tuple(reads() if callable(reads) else reads), sets)
  _check_files()
  gc.disable()  # To visit the modules' 400,000 objects takes 0.6 s.
  modules.load()
  sys.dont_write_bytecode = True  # Else AutoGraph leaves files in TMPDIR.
  gc.freeze()
  gc.enable()
  with process.handling(process.interrupt, signal.SIGINT):
    main(argv)


def _check_files() -> None:
  """Raises UserError if a file of a flag is missing, or cannot be written."""
  for flag, text in _EXISTING:
    value = flags.FLAGS[flag.name].value  # Also of a flag without its value.
    for item in [value] if isinstance(value, str) else value or []:
      parts = [item] if input_files.exist(item) else item.split(',')
      for path in filter(None, parts):
        if not input_files.exist(path):
          raise errors.UserError(
            f'--{flag.name} must name files that exist. Found nothing at '
            f'{path}. It takes: {text.rstrip(".")}.'
          )
  for name, is_file in _NEW.items():
    output_files.check(flags.FLAGS[name].value or '://', is_file)
