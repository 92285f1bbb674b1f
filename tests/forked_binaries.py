"""Runs binaries in forks of one process, which loads TensorFlow once.

As a program, it reads [[name, flags], ...] as JSON and prints the results.
"""

import json
import os
import subprocess
import sys
import tempfile
from typing import NamedTuple

from tests import source_tree


class Result(NamedTuple):
  """Exit code and output of a binary."""

  code: int
  stdout: str
  stderr: str


def run_all(
  cases: list[tuple[str, list[str]]], *, preloads: bool = True
) -> list[Result]:
  """Runs `python -m bin.NAME FLAGS` for each (NAME, FLAGS).

  Binaries that end before any work are quicker if nothing `preloads`.
  """
  more = ['preload'] if preloads else []
  process = subprocess.run(
    [sys.executable, '-m', 'tests.forked_binaries', *more],
    cwd=source_tree.ROOT,
    input=json.dumps(cases),
    capture_output=True,
    text=True,
    check=False,
  )
  if process.returncode:
    raise RuntimeError(f'The forking process failed:\n{process.stderr}')
  return [Result(*row) for row in json.loads(process.stdout)]


def preload():
  """Imports the modules of the binaries; starts no thread, as forks lose it."""
  from bin import modules

  modules.preload(source_tree.binaries())
  from realm_tf.model import precision

  # 'auto' means float32, as in tests/conftest.py.
  precision.multiplies_bfloat16 = lambda: False


def _run(name, flags):
  with tempfile.TemporaryFile('w+') as out, tempfile.TemporaryFile('w+') as err:
    child = os.fork()
    if not child:
      os.dup2(out.fileno(), 1)
      os.dup2(err.fileno(), 2)
      become(name, flags)
    _, status = os.waitpid(child, 0)
    out.seek(0)
    err.seek(0)
    return os.waitstatus_to_exitcode(status), out.read(), err.read()


def become(name, flags):
  """Runs a binary in this process, then ends the process."""
  from bin import launcher

  os._exit(launcher.call(name, flags))


def main():
  cases = json.load(sys.stdin)
  if sys.argv[1:]:
    preload()
  json.dump([_run(name, flags) for name, flags in cases], sys.stdout)


if __name__ == '__main__':
  main()
