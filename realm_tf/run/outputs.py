"""Checks a job's output files and directories, and publishes directories."""

from collections.abc import Iterable, Iterator
import contextlib
import os
import shutil
import tempfile
from typing import Any
import uuid

import tensorflow as tf

from realm_tf import errors
from realm_tf.run import manifests


def check_directory(path: str) -> None:
  """Raises UserError if a local directory cannot be made or written."""
  _check_writable(path, path)


def check_file(path: str) -> None:
  """Raises UserError if a local file cannot be written."""
  if os.path.isdir(path):
    raise errors.UserError(
      f'{path} must be a file to write. Found a directory. Name a file.'
    )
  _check_writable(path, os.path.dirname(path) or '.')


def check_new(output_dir: str, overwrite: bool = False) -> None:
  """Raises UserError if `output_dir` is complete and cannot be overwritten.

  A directory to overwrite needs an intact manifest, with the files to delete.
  """
  if manifests.is_complete(output_dir) and not overwrite:
    raise errors.UserError(
      f'--output_dir must be new. Found a {manifests.NAME} in {output_dir}. '
      'Give another directory, or --overwrite.'
    )
  _published(output_dir)


def write_text(path: str, text: str) -> None:
  """Writes a file; UserError if it cannot be written."""
  try:
    with tf.io.gfile.GFile(path, 'wb') as file:
      # JSON may hold lone surrogates, which UTF-8 cannot encode.
      file.write(text.encode('utf-8', 'replace'))
  except tf.errors.OpError as error:
    raise errors.UserError(
      f'{path} must be a file that can be written. Found: {error.message}. '
      'Give another.'
    ) from error


@contextlib.contextmanager
def publishing(output_dir: str) -> Iterator[tuple[str, dict[str, Any]]]:
  """Yields (staging directory, metadata) to fill, then publishes both.

  Published files replace the files of an older manifest in `output_dir`. If the
  body raises, nothing is published.

  Raises:
    UserError: A file cannot be written, here or in the body; or the older
      manifest is damaged.
  """
  is_remote = '://' in output_dir
  if is_remote:
    staging = tempfile.mkdtemp()
  else:
    # The same file system as `output_dir`, so that a move is a rename.
    staging = f'{output_dir.rstrip("/")}.{uuid.uuid4().hex[:8]}.tmp'
    os.makedirs(staging)
  published = []
  try:
    metadata: dict[str, Any] = {}
    yield staging, metadata
    files = manifests.describe_all(staging)
    manifests.check_names(output_dir, files)
    _remove(_published(output_dir))
    for name in files:
      path = os.path.join(output_dir, name)
      published.append(path)
      tf.io.gfile.makedirs(os.path.dirname(path))
      move = tf.io.gfile.copy if is_remote else os.replace
      move(os.path.join(staging, name), path)
    metadata.update(manifests.write(output_dir, files, metadata))
  except (OSError, tf.errors.OpError) as error:  # Usually a full disk.
    _remove(published)
    raise errors.UserError(
      f'{output_dir} must be writable and have room. Found: {error}. Nothing '
      'is left of it. Free some space, or write elsewhere.'
    ) from error
  finally:
    shutil.rmtree(staging, ignore_errors=True)


def _published(output_dir: str) -> list[str]:
  """Returns the files of a complete directory, or none.

  The manifest is the first: without it, readers use none of the files.
  """
  if not manifests.is_complete(output_dir):
    return []
  try:
    names = manifests.read(output_dir, manifests.ANY)['files']
  except errors.UserError as error:
    raise errors.UserError(
      'A directory to overwrite must have an intact manifest, which names the '
      f'files. Found: {error} Nothing was deleted. Give another --output_dir, '
      f'or remove {os.path.join(output_dir, manifests.NAME)} yourself.'
    ) from error
  return [os.path.join(output_dir, name) for name in (manifests.NAME, *names)]


def _remove(paths: Iterable[str]) -> None:
  """Removes the files that exist."""
  for path in paths:
    with contextlib.suppress(tf.errors.NotFoundError):
      tf.io.gfile.remove(path)


def _check_writable(path: str, folder: str) -> None:
  if '://' in path:
    return
  while not os.path.lexists(folder):
    folder = os.path.dirname(folder.rstrip('/')) or '.'
  try:
    with tempfile.TemporaryFile(dir=folder):
      pass
  except OSError as error:
    raise errors.UserError(
      f'{path} must be writable. Found {folder}: {error.strerror}. Choose '
      'another place.'
    ) from error
