"""Reads small files from outside whole.

Opening a FIFO, or reading a device, might never end. Code that opens files
itself calls `check` first.
"""

from collections.abc import Callable
import glob
import os
import re
import stat

from realm_tf import errors

_KINDS = {
  stat.S_IFDIR: 'a directory',
  stat.S_IFIFO: 'a FIFO',
  stat.S_IFSOCK: 'a socket',
}

_PREFIX = re.compile('(?:beir|bert|hf|hf_disk|tf1):')
# A URL or a name, such as gs://bucket/run, tfds:wikipedia and terms.
_NO_PATH = re.compile(r'\w+:|(rules|terms)$')


def exist(item: str) -> bool:
  """Returns whether a file, a directory, a glob or e.g. 'hf:DIR' has files.

  Files that are not local count as existing.
  """
  path = _PREFIX.sub('', item.removesuffix('+terms'), count=1)
  return bool(
    _NO_PATH.match(path)
    or os.path.exists(path)
    or os.path.exists(split_of(path)[0])  # beir:DIR@SPLIT
    or os.path.exists(f'{path}.index')  # The prefix of a checkpoint's files.
    or glob.glob(path)
  )


def split_of(item: str) -> tuple[str, str]:
  """Returns 'NAME@SPLIT' without its split, and the split or ''.

  A folder may have an @ in its name.
  """
  name, _, split = item.rpartition('@')
  is_name = not name or '/' in split or os.path.exists(item)
  return (item, '') if is_name else (name, split)


def check(path: str) -> None:
  """Raises UserError if `path` exists and is no regular file."""
  try:
    mode = os.stat(path).st_mode
  except (OSError, ValueError):  # Opening it raises a better error.
    return
  if not stat.S_ISREG(mode):
    found = _KINDS.get(stat.S_IFMT(mode), 'a device')
    raise errors.UserError(
      f'{path} must be a regular file. Found {found}. Give a file, or remove '
      'it.'
    )


def opener(path: str) -> tuple[Callable, type[Exception]]:
  """Returns the function that opens a file, and the error that it may raise."""
  if '://' not in path:
    return open, OSError
  import tensorflow as tf  # Takes seconds, so not for local files.

  return tf.io.gfile.GFile, tf.errors.OpError


def read(path: str, advice: str = '') -> bytes:
  """Returns the content of a file; UserError if it cannot be read.

  `advice` is the last sentence of the error.
  """
  check(path)
  open_file, failure = opener(path)
  try:
    with open_file(path, 'rb') as file:
      return file.read()
  except (OSError, ValueError, failure) as error:
    reason = 'no such file'
    if type(error).__name__ not in ('FileNotFoundError', 'NotFoundError'):
      reason = getattr(error, 'strerror', '') or str(error)
    raise errors.UserError(
      f'{path} must be a readable file. Found: {reason}. {advice}'
    ) from error
