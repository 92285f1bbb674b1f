"""Reads small files from outside whole.

Opening a FIFO, or reading a device, might never end. Code that opens files
itself calls `check` or `kind` first.
"""

import os
import stat

import tensorflow as tf

from realm_tf import errors

_KINDS = {
  stat.S_IFDIR: 'a directory',
  stat.S_IFIFO: 'a FIFO',
  stat.S_IFSOCK: 'a socket',
}


def kind(path: str) -> str:
  """Returns e.g. 'a FIFO' if `path` exists and is no file, else ''."""
  if '://' in path:
    return ''
  try:
    mode = os.stat(path).st_mode
  except (OSError, ValueError):  # Opening it raises a better error.
    return ''
  if stat.S_ISREG(mode):
    return ''
  return _KINDS.get(stat.S_IFMT(mode), 'a device')


def check(path: str) -> None:
  """Raises UserError if `path` exists and is no regular file."""
  found = kind(path)
  if found:
    raise errors.UserError(
      f'{path} must be a regular file. Found {found}. Give a file, or remove '
      'it.'
    )


def read(path: str) -> bytes:
  """Returns the content of a file; UserError if it cannot be read."""
  check(path)
  try:
    with tf.io.gfile.GFile(path, 'rb') as file:
      return file.read()
  except (tf.errors.OpError, OSError, ValueError) as error:
    reason = 'no such file'
    if not isinstance(error, tf.errors.NotFoundError):
      reason = getattr(error, 'message', '') or str(error)
    raise errors.UserError(
      f'{path} must be a readable file. Found: {reason}.'
    ) from error
