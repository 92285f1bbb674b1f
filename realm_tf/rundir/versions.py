"""Numbered, immutable directories: how the trainer and refresher talk.

A version counts only once its manifest is there, which is written last and
lists every file with its size and sha256. So nothing depends on renaming a
directory, which object stores cannot do, and readers never lock or wait.
"""

from collections.abc import Callable, Mapping
import hashlib
import json
import os
from typing import Any, NamedTuple, Optional

import tensorflow as tf

from realm_tf import errors

MANIFEST = 'manifest.json'
_CHUNK_BYTES = 1 << 24


class Version(NamedTuple):
  """A complete version. `step` is the training step of its parameters."""

  step: int
  path: str


def publish(
  root: str,
  step: int,
  write: Callable[[str], None],
  metadata: Mapping[str, Any],
) -> Version:
  """Makes version `step` of what `write(directory)` writes.

  A complete version is never written again: it is returned as it is. What a
  crash left of an incomplete one is thrown away first.

  Args:
    root: Directory of all versions.
    step: Training step of the parameters.
    write: Writes files, at any depth, into the directory that it is given.
    metadata: Further entries of the manifest.

  Returns:
    The version.
  """
  path = os.path.join(root, f'{step:09d}')
  if is_complete(path):
    return Version(step, path)
  if tf.io.gfile.exists(path):
    tf.io.gfile.rmtree(path)
  tf.io.gfile.makedirs(path)
  write(path)
  manifest = {**metadata, 'step': step, 'files': _describe_files(path)}
  # Written under another name first: a POSIX reader must not see half of it.
  # An object store shows a file only when it is whole, and copies on rename.
  staging = os.path.join(path, '.' + MANIFEST)
  with tf.io.gfile.GFile(staging, 'w') as file:
    file.write(json.dumps(manifest, indent=1, sort_keys=True))
  tf.io.gfile.rename(staging, os.path.join(path, MANIFEST), overwrite=True)
  return Version(step, path)


def is_complete(path: str) -> bool:
  """Returns whether the version at `path` has its manifest."""
  return tf.io.gfile.exists(os.path.join(path, MANIFEST))


def newest(root: str, above: int = -1) -> Optional[Version]:
  """Returns the complete version of the highest step > `above`, or None."""
  if not tf.io.gfile.isdir(root):
    return None
  names = (name.rstrip('/') for name in tf.io.gfile.listdir(root))
  steps = [int(name) for name in names if name.isdigit() and int(name) > above]
  for step in sorted(steps, reverse=True):
    path = os.path.join(root, f'{step:09d}')
    if is_complete(path):
      return Version(step, path)
  return None


def read_manifest(path: str) -> dict[str, Any]:
  """Returns the manifest of the version at `path`.

  Raises:
    UserError: There is none, or it is not JSON.
  """
  file_name = os.path.join(path, MANIFEST)
  if not tf.io.gfile.exists(file_name):
    raise errors.UserError(
      f'A complete version has a manifest. Found none: {file_name}. Write '
      'the version again.'
    )
  with tf.io.gfile.GFile(file_name) as file:
    try:
      return json.loads(file.read())
    except json.JSONDecodeError as error:
      raise errors.UserError(
        f'{file_name} must be JSON. Found: {error}. Write the version again.'
      ) from error


def verify(path: str) -> dict[str, Any]:
  """Checks every file of the version at `path` and returns its manifest.

  Raises:
    UserError: Names the first file whose size or sha256 is not the manifest's.
  """
  manifest = read_manifest(path)
  for name, expected in manifest['files'].items():
    file_name = os.path.join(path, name)
    if not tf.io.gfile.exists(file_name):
      raise errors.UserError(
        f'The manifest lists {file_name}. Found no such file. Write the '
        'version again.'
      )
    if _describe(file_name) != expected:
      raise errors.UserError(
        f'{file_name} must have the size and sha256 of its manifest. Found '
        'others. Write the version again.'
      )
  return manifest


def prune(root: str, keep: int, in_use: tuple[int, ...] = ()) -> None:
  """Removes all but the newest `keep` complete versions and those in use."""
  if not tf.io.gfile.isdir(root):
    return
  names = sorted(name.rstrip('/') for name in tf.io.gfile.listdir(root))
  complete = [
    name
    for name in names
    if name.isdigit() and is_complete(os.path.join(root, name))
  ]
  for name in complete[:-keep]:
    if int(name) not in in_use:
      # The manifest goes first: nobody shall read what is being removed.
      tf.io.gfile.remove(os.path.join(root, name, MANIFEST))
      tf.io.gfile.rmtree(os.path.join(root, name))


def _describe_files(path):
  files = {}
  for folder, _, names in tf.io.gfile.walk(path):
    for name in names:
      file_name = os.path.join(folder, name)
      relative = os.path.relpath(file_name, path)
      files[relative] = _describe(file_name)
  return files


def _describe(file_name):
  digest = hashlib.sha256()
  with tf.io.gfile.GFile(file_name, 'rb') as file:
    while chunk := file.read(_CHUNK_BYTES):
      digest.update(chunk)
  return {
    'size': tf.io.gfile.stat(file_name).length,
    'sha256': digest.hexdigest(),
  }
