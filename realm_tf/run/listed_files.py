"""Checks that the files of a manifest are inside of its directory.

A manifest from a stranger may name any path, and jobs open, copy and delete the
named files. Links that lead out of the directory are refused, as '..' is.
"""

from collections.abc import Iterable
import contextlib
import os
import shutil

import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files

_FORBIDDEN = '\\:\0'  # Occur in other systems' paths, drives and URLs.


def check_names(directory: str, names: Iterable[str], reserved: str) -> None:
  """Raises UserError unless all names are files below `directory`.

  Args:
    names: Paths with '/'. The files need not exist.
    reserved: A forbidden name.
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
  """Removes a directory with its links, but not the links' targets.

  Raises:
    tf.errors.NotFoundError: The directory is missing, or another process is
      removing it.
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
  """Removes the files that exist."""
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
    f'Names in the manifest of {directory} must be of files below it. Found '
    f'{name[:200]!r}, which {problem}. Nothing was opened or deleted. Make the '
    'directory again, or take it from somebody whom you trust.'
  )
