"""Checks that a file or directory can be written, before any work."""

import os
import tempfile

from realm_tf import errors


def check(
  path: str, is_file: bool = False, advice: str = 'Choose another place.'
) -> None:
  """Raises UserError if a local directory, or file, cannot be written."""
  if '://' in path:
    return
  found = os.path.dirname(path) or '.' if is_file else path
  while not os.path.lexists(found):
    found = os.path.dirname(found.rstrip('/')) or '.'
  try:
    with tempfile.TemporaryFile(dir=found):
      pass
    if is_file and os.path.lexists(path):
      found = path
      open(path, 'ab').close()
  except OSError as error:
    raise errors.UserError(
      f'{path} must be writable. Found {found}: {error.strerror}. {advice}'
    ) from error
