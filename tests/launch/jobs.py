"""Functions that stages of tests run, and a recipe that waits."""

import os
import pathlib
import signal
import subprocess
import tempfile

from launch import runner
from realm_tf import errors


def copy(input: str, output: str, times: int = 1):
  if times < 0:
    pathlib.Path(output).write_text('half')
    raise errors.UserError('--times must be at least 0.')
  pathlib.Path(output).write_text(pathlib.Path(input).read_text() * times)


def leave_file(output: str):
  pathlib.Path(output).write_text(tempfile.mkstemp()[1])


def fault(output: str):
  raise KeyError(output)


def wait(fifo: str, output: str):
  """Waits for a signal; the FIFO `fifo` is open in it and its child."""
  pathlib.Path(output).write_text('half')
  with open(fifo, 'w') as file:
    child = subprocess.Popen(['sleep', '600'], pass_fds=[file.fileno()])
    file.write(f'{os.getpid()} {child.pid}\n')
    file.flush()
    signal.pause()


def stages(recipe: runner.Recipe, folder: str):
  for name in ('first', 'second'):
    recipe.stage(
      name, wait, fifo=os.path.join(folder, name), output=runner.OUTPUT
    )


if __name__ == '__main__':
  # Two cores, wherever the test runs.
  runner.Recipe.cores = property(lambda recipe: 2)
  # A test in a shell's background ignores it.
  signal.signal(signal.SIGINT, signal.default_int_handler)
  runner.main('doc', stages)
