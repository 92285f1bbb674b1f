"""Checks that a job's output is new, and publishes files and directories."""

from collections.abc import Iterable, Iterator
import contextlib
import os
import shutil
import tempfile
from typing import Any
import uuid

import tensorflow as tf

from realm_tf import errors
from realm_tf.run import layout
from realm_tf.run import manifests
from realm_tf.run import run_lock


def check_new(output_dir: str, overwrite: bool = False) -> None:
  """Raises UserError if another job's files are there; they would be mixed.

  A directory to overwrite needs an intact manifest, with the files to delete.
  """
  paths = [layout.params_root(output_dir), layout.checkpoint_dir(output_dir)]
  if not overwrite:
    paths.append(os.path.join(output_dir, manifests.NAME))
  for path in paths:
    if tf.io.gfile.exists(path):
      raise errors.UserError(
        f'The directory must be new. Found {path}. Give another, or --resume '
        'or --overwrite where the binary has it.'
      )
  _published(output_dir)


@contextlib.contextmanager
def filling(output_dir: str) -> Iterator[None]:
  """Lets the body alone fill a new or empty directory.

  Raises:
    UserError: The directory has files, or another job fills it.
  """
  is_there = tf.io.gfile.exists(output_dir)
  if is_there and {*tf.io.gfile.listdir(output_dir)} - {run_lock.NAME}:
    raise errors.UserError(
      f'--output_dir must be new or empty. Found files in {output_dir}. Give '
      'another, such as the next version.'
    )
  with run_lock.holding(output_dir, 'job'):
    yield
    remove([os.path.join(output_dir, run_lock.NAME)])


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
    UserError: A file cannot be written, here or in the body; the older
      manifest is damaged; or another job was faster.
  """
  is_remote, before = '://' in output_dir, _published(output_dir)
  if is_remote:
    staging = tempfile.mkdtemp()
  else:
    # The same file system as `output_dir`, so that a move is a rename. Next to
    # a directory that exists, such as a container's volume, may be no place.
    place = output_dir.rstrip('/') + '/' * os.path.isdir(output_dir)
    staging = f'{place}.{uuid.uuid4().hex[:8]}.tmp'
    os.makedirs(staging)
  published: list[str] = []
  try:
    metadata: dict[str, Any] = {}
    yield staging, metadata
    files = manifests.describe_all(staging)
    manifests.check_names(output_dir, files)
    old = _published(output_dir)
    if old and not before:
      raise errors.UserError(
        f'Only one job may write {output_dir}. Found that another was '
        'faster. Give another directory.'
      )
    remove(old)
    for name in files:
      path = os.path.join(output_dir, name)
      published.append(path)
      tf.io.gfile.makedirs(os.path.dirname(path))
      move = tf.io.gfile.copy if is_remote else os.replace
      move(os.path.join(staging, name), path)
    metadata.update(manifests.write(output_dir, files, metadata))
  except (OSError, tf.errors.OpError) as error:  # Usually a full disk.
    remove(published)
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


def remove(paths: Iterable[str]) -> None:
  """Removes the files that exist."""
  for path in paths:
    with contextlib.suppress(tf.errors.NotFoundError):
      tf.io.gfile.remove(path)
