"""A disk of one megabyte, for tests of a full disk."""

import os
import subprocess

from absl.testing import absltest


def mount(test: absltest.TestCase, directory: str) -> None:
  """Mounts one on a directory until the test ends; skips it without root."""
  command = ['mount', '-t', 'tmpfs', '-o', 'size=1m', 'none', directory]
  if subprocess.run(command, capture_output=True, check=False).returncode:
    test.skipTest('Only root can mount a file system.')
  test.addCleanup(subprocess.run, ['umount', '-l', directory], check=True)


def fill(directory: str) -> str:
  """Returns the path of a file that takes all of the disk."""
  path = os.path.join(directory, 'filler')
  with open(path, 'wb', buffering=0) as file:
    try:
      while file.write(bytes(4096)):
        pass
    except OSError:
      pass
  return path
