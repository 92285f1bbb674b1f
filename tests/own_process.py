"""Arrays from programs that need a process of their own, for tests.

Only before TensorFlow starts can the CPU be split into several devices.
"""

from collections.abc import Mapping
import os
import subprocess
import sys
import tempfile

import numpy as np

from tests import source_tree

Results = dict[str, dict[str, np.ndarray]]  # Case -> name -> array.


def run(module: str) -> Results:
  """Runs a module whose argument is a file for `write`; returns its results."""
  results: Results = {}
  with tempfile.TemporaryDirectory() as directory:
    path = os.path.join(directory, 'results.npz')
    subprocess.run(
      [sys.executable, '-m', module, path], cwd=source_tree.ROOT, check=True
    )
    with np.load(path) as arrays:
      for key, value in arrays.items():
        case, _, name = key.partition('|')
        results.setdefault(case, {})[name] = value
  return results


def write(path: str, results: Mapping[str, Mapping[str, np.ndarray]]) -> None:
  """Writes the results of each case."""
  arrays = {
    f'{case}|{name}': value
    for case, result in results.items()
    for name, value in result.items()
  }
  np.savez(path, **arrays)
