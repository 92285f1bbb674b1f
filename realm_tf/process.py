"""How a process of ours begins and ends: streams, signals, one line, a code."""

import atexit
from collections.abc import Callable, Iterator, Sequence
import contextlib
import io
import multiprocessing
from multiprocessing import connection
from multiprocessing import forkserver
import os
import signal
import sys
import tempfile
import threading
import types
from typing import Any

from realm_tf import errors
from realm_tf import machine

# As shells have them: 128 and the signal's number.
_INTERRUPTED = 128 + signal.SIGINT
_UNREAD = 128 + signal.SIGPIPE
_was_interrupted = threading.Event()


class _Unread(BaseException):  # noqa: N818, no error, least of all of a disk.
  """Nobody reads stdout any more, as with `| head`."""


class _Stdout(io.FileIO):
  """Standard output; without a reader it ends the main thread, not a server."""

  def write(self, data: Any) -> int:  # noqa: D102, as its base.
    try:
      return super().write(data)
    except BrokenPipeError:
      if threading.current_thread() is threading.main_thread():
        raise _Unread from None
      return len(data)


def leave_if_interrupted() -> None:
  """Makes Ctrl-C end a command that still loads, with a line.

  Some modules make another error of a KeyboardInterrupt. A user's own Python,
  and a process that ignores Ctrl-C, are not changed.
  """
  name = os.path.basename(sys.argv[0])
  is_command = name == '-m' or name.startswith('realm-')
  if is_command and callable(signal.getsignal(signal.SIGINT)):
    signal.signal(signal.SIGINT, _leave)


def _leave(*_: object) -> None:
  os.write(2, b'Interrupted.\n')
  os._exit(_INTERRUPTED)


def leave() -> None:
  """Ends the process with code 0, where Python's own end would abort it.

  granian's thread still closes connections when its server has ended, and
  needs a whole Python for it.
  """
  atexit._run_exitfuncs()
  os._exit(0)


def begin() -> None:
  """Opens closed streams, and reads and writes UTF-8 in every locale."""
  for number, mode in enumerate('rww'):
    try:
      os.fstat(number)
    except OSError:  # Else the next file would take its number.
      stream = open(os.open(os.devnull, os.O_RDWR), mode, closefd=False)  # noqa: SIM115
      setattr(sys, ('stdin', 'stdout', 'stderr')[number], stream)
  if sys.getfilesystemencoding() != 'utf-8':
    os.environ['PYTHONUTF8'] = '1'
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
  if sys.__stdout__ and sys.stdout is sys.__stdout__:  # Not a caller's.
    sys.stdout.flush()
    sys.stdout = io.TextIOWrapper(
      io.BufferedWriter(_Stdout(1, 'w', closefd=False)),
      line_buffering=sys.stdout.isatty(),
    )
  for stream in (sys.stdout, sys.stderr):
    if isinstance(stream, io.TextIOWrapper):  # PYTHONIOENCODING may be ascii.
      stream.reconfigure(encoding='utf-8', errors='backslashreplace')


def end_with_parent() -> None:
  """Makes Ctrl-C, and its parent's end, end a process of multiprocessing."""
  signal.signal(signal.SIGINT, signal.SIG_DFL)  # Without a traceback.
  parent = multiprocessing.parent_process()
  if parent:
    threading.Thread(target=_end_with, args=[parent], daemon=True).start()


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
  connection.wait([parent.sentinel])
  os._exit(1)


def interrupt(*_: object) -> None:
  """Handles Ctrl-C; `ending` takes any error after it for Ctrl-C."""
  _was_interrupted.set()
  raise KeyboardInterrupt


@contextlib.contextmanager
def ending(
  interrupted: str, shown: Callable[[str], str] = str
) -> Iterator[None]:
  """Ends the process with a line and a code for a user's mistake or stop.

  Args:
    interrupted: Line for Ctrl-C.
    shown: Changes the text of an error.
  """
  _was_interrupted.clear()
  try:
    _check_temporary_folder()
    try:
      yield
    finally:
      sys.stdout.flush()
  except _Unread:  # Python's last flush would fail.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(_UNREAD)
  except errors.Stopped as stopped:
    sys.stdout.write(f'{stopped}\n')
  except (KeyboardInterrupt, Exception) as error:
    # TensorFlow makes a SystemError of a KeyboardInterrupt.
    if isinstance(error, KeyboardInterrupt) or _was_interrupted.is_set():
      sys.stderr.write(f'{interrupted}\n')
      sys.exit(_INTERRUPTED)
    if not isinstance(error, errors.UserError):
      raise
    sys.stderr.write(f'ERROR: {shown(str(error))}\n')
    sys.exit(2)


def _check_temporary_folder() -> None:
  """Raises UserError without one: TensorFlow cannot be imported."""
  try:
    tempfile.gettempdir()
  except FileNotFoundError as error:
    raise errors.UserError(
      'A folder for temporary files must be writable. Found: '
      f'{error.strerror}. Set TMPDIR to another.'
    ) from error


@contextlib.contextmanager
def handling(handler: Any, *numbers: int) -> Iterator[None]:
  """Handles signals in the body; a process that ignores one still does.

  Only the main thread gets signals.
  """
  is_main = threading.current_thread() is threading.main_thread()
  before: dict[int, Any] = {}
  try:
    for number in numbers if is_main else ():
      if signal.getsignal(number) is not signal.SIG_IGN:
        before[number] = signal.signal(number, handler)
    yield
  finally:
    for number, old in before.items():
      signal.signal(number, old)


def start_server(modules: Sequence[str]) -> None:
  """Starts the process that imports `modules`, from which others are forked."""
  machine.shorten_sockets()
  forkserver.set_forkserver_preload([*modules])
  with handling(signal.SIG_IGN, signal.SIGINT):  # Ctrl-C is for this process.
    forkserver.ensure_running()


@contextlib.contextmanager
def without_script() -> Iterator[None]:
  """Starts processes in the body that do not run the user's script again.

  It may lack a main guard, or come from standard input.
  """
  script = sys.modules['__main__']
  sys.modules['__main__'] = types.ModuleType('__main__')
  try:
    yield
  finally:
    sys.modules['__main__'] = script
