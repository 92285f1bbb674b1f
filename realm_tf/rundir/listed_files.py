"""Keeps what a directory's files are named inside of the directory.

A manifest that a stranger wrote may name any path; whoever deletes, copies or
opens what it lists would do so anywhere. So its names are checked as it is
read, and links that lead out of the directory are refused like '..'.
"""

from collections.abc import Iterable
import contextlib
import os
import shutil

import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files

_FORBIDDEN = '\\:\0'  # Of other systems' paths, drives and URLs.


def check_names(directory: str, names: Iterable[str], reserved: str) -> None:
  """Raises UserError unless all names are of files below `directory`.

  Args:
    names: Paths with '/', which need not exist.
    reserved: A name that none may be.
  """
  root = None if '://' in directory else os.path.realpath(directory)
  for name in names:
    if not _is_below(name) or name.lower() == reserved:
      raise _refusal(directory, name, 'is no name of a file below it')
    if root is None:
      continue
    path = os.path.join(root, name)
    try:
      real = os.path.realpath(path)
    except (OSError, ValueError) as error:
      raise _refusal(directory, name, f'is no path: {error}') from error
    if not real.startswith(os.path.join(root, '')):
      raise _refusal(directory, name, 'leads out of it by a link')
    input_files.check(path)


def remove_tree(path: str) -> None:
  """Removes a directory, and links in it but never what they lead to.

  Raises:
    tf.errors.NotFoundError: It is not there, or another process is faster.
  """
  if '://' in path:
    tf.io.gfile.rmtree(path)
    return
  try:
    if os.path.islink(path):
      os.remove(path)
    else:
      shutil.rmtree(path)
  except FileNotFoundError as error:
    raise tf.errors.NotFoundError(None, None, str(error)) from error


def remove(paths: Iterable[str]) -> None:
  """Removes files, as far as they are there."""
  for path in paths:
    with contextlib.suppress(tf.errors.NotFoundError):
      tf.io.gfile.remove(path)


def _is_below(name: str) -> bool:
  parts = name.split('/')
  return not any(part in ('', '.', '..') for part in parts) and not any(
    character in _FORBIDDEN or not character.isprintable() for character in name
  )


def _refusal(directory: str, name: str, problem: str) -> errors.UserError:
  return errors.UserError(
    f'Names in the manifest of {directory} must be of files below it. '
    f'{name[:200]!r} {problem}. Nothing was opened or deleted. Make the '
    'directory again, or take it from somebody whom you trust.'
  )
