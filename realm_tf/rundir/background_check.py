"""Hashes large files of a directory in the background, and reports in a line.

Opening a directory hashes only its small files. A server that then runs for
weeks has the time to read the others, slowly, while it answers.
"""

from collections.abc import Callable, Mapping
import threading
import time
from typing import Any, Optional

from absl import logging

from realm_tf import errors
from realm_tf.rundir import manifests

_PAUSE_SECS = 0.01  # After each MiB: at most 100 MB/s, a tenth of a core.


def start(
  directory: str,
  manifest: Mapping[str, Any],
  pause: Callable[[], None] = lambda: time.sleep(_PAUSE_SECS),
) -> Optional[threading.Thread]:
  """Begins to check the files that opening did not; None if there are none.

  A file that was changed is an error in the log, with its name; whoever uses
  the directory goes on, as it did before anybody knew.

  Args:
    manifest: Manifest of the directory, from `manifests.read`.
    pause: Called after each MiB.
  """
  large = {
    name: entry
    for name, entry in manifest['files'].items()
    if entry['size'] > manifests.SMALL_BYTES
  }
  if not large:
    return None
  thread = threading.Thread(
    target=_check, args=[directory, large, pause], daemon=True, name='check'
  )
  thread.start()
  return thread


def _check(directory, large, pause):
  begun = time.monotonic()
  try:
    for name, entry in large.items():
      manifests.check_file(directory, name, entry, contents=True, pause=pause)
  except errors.UserError as error:
    logging.error('A check in the background found damage: %s', error)
    return
  logging.info(
    'The %d large files of %s are as they were written: %.1f GB, read in %.0f '
    's.',
    len(large),
    directory,
    sum(entry['size'] for entry in large.values()) / 1e9,
    time.monotonic() - begun,
  )
