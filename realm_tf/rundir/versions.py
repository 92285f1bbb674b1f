"""Numbered, immutable directories: how the trainer and refresher talk.

A version counts only once its manifest is there, which is written last and
lists every file with its size and sha256, and its own. So nothing depends on
renaming a directory, which object stores cannot do, and readers never lock or
wait. A file that the manifest does not list is not part of the version.
"""

from collections.abc import Callable, Mapping
import contextlib
import hashlib
import json
import os
from typing import Any, NamedTuple, Optional

import tensorflow as tf

from realm_tf import errors
from realm_tf.rundir import json_files

MANIFEST = 'manifest.json'
_CHUNK_BYTES = 1 << 24
_OWN_SHA256 = 'manifest_sha256'


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
  path = version_path(root, step)
  if is_complete(path):
    return Version(step, path)
  if tf.io.gfile.exists(path):
    tf.io.gfile.rmtree(path)
  tf.io.gfile.makedirs(path)
  write(path)
  return seal(path, step, _describe_files(path), metadata)


def seal(
  path: str,
  step: int,
  files: Mapping[str, Mapping[str, Any]],
  metadata: Mapping[str, Any],
) -> Version:
  """Completes the version at `path` by writing its manifest.

  Args:
    path: Of the version, with all of its files.
    step: Training step of the parameters.
    files: Name below `path` -> what `describe` or `describe_bytes` says.
    metadata: Further entries of the manifest.

  Returns:
    The version.
  """
  manifest = {**metadata, 'step': step, 'files': dict(files)}
  manifest[_OWN_SHA256] = _manifest_sha256(manifest)
  json_files.write(os.path.join(path, MANIFEST), manifest)
  return Version(step, path)


def version_path(root: str, step: int) -> str:
  """Returns where the version of a step is, or will be."""
  return os.path.join(root, f'{step:09d}')


def is_complete(path: str) -> bool:
  """Returns whether the version at `path` has its manifest."""
  return tf.io.gfile.exists(os.path.join(path, MANIFEST))


def newest(root: str, above: int = -1) -> Optional[Version]:
  """Returns the complete version of the highest step > `above`, or None."""
  for step in reversed(steps(root)):
    path = version_path(root, step)
    if step > above and is_complete(path):
      return Version(step, path)
  return None


def oldest(root: str, above: int = -1) -> Optional[Version]:
  """Returns the complete version of the lowest step > `above`, or None."""
  for step in steps(root):
    path = version_path(root, step)
    if step > above and is_complete(path):
      return Version(step, path)
  return None


def steps(root: str) -> list[int]:
  """Returns the steps of all versions, also incomplete ones, ascending."""
  try:
    names = tf.io.gfile.listdir(root)
  except tf.errors.NotFoundError:
    return []
  # An object store's folders end in a slash.
  return sorted(
    int(name) for name in (name.rstrip('/') for name in names) if name.isdigit()
  )


def read_manifest(path: str) -> dict[str, Any]:
  """Returns the manifest of the version at `path`.

  Raises:
    UserError: There is none, or it is not as it was written.
  """
  file_name = os.path.join(path, MANIFEST)
  if not tf.io.gfile.exists(file_name):
    raise errors.UserError(
      f'A complete version has a manifest. Found none: {file_name}. Write '
      'the version again.'
    )
  manifest = json_files.read(file_name)
  if not isinstance(manifest, dict) or 'files' not in manifest:
    raise errors.UserError(
      f'{file_name} must be JSON, as it was written. Found something else. '
      'Write the version again.'
    )
  own = manifest.get(_OWN_SHA256)  # Older versions lack it.
  if own is not None and own != _manifest_sha256(manifest):
    raise errors.UserError(
      f'{file_name} must have the sha256 that it was written with. Found '
      'another. Write the version again.'
    )
  return manifest


def verify(path: str) -> dict[str, Any]:
  """Checks every file of the version at `path` and returns its manifest.

  Raises:
    UserError: Names the first file that is missing, cannot be read, or whose
      size or sha256 is not the manifest's.
  """
  manifest = read_manifest(path)
  for name, expected in manifest['files'].items():
    file_name = os.path.join(path, name)
    try:
      found = describe(file_name, expected['size'])
    except tf.errors.OpError as error:
      raise errors.UserError(
        f'The manifest lists {file_name}, which must be there. Found: '
        f'{error.message or type(error).__name__}. Write the version again.'
      ) from error
    if found != expected:
      raise errors.UserError(
        f'{file_name} must have the size and sha256 of its manifest. Found '
        'others. Write the version again.'
      )
  return manifest


def prune(root: str, keep: int, in_use: tuple[int, ...] = ()) -> None:
  """Removes all but the newest `keep` complete versions and those in use.

  What crashes left of incomplete ones goes too, once `keep` newer ones are
  complete: nobody writes such an old one any more.
  """
  present = steps(root)
  complete = [step for step in present if is_complete(version_path(root, step))]
  if len(complete) < keep:
    return
  for step in present:
    if step < complete[-keep] and step not in in_use:
      _remove(version_path(root, step))


def describe(file_name: str, size: Optional[int] = None) -> dict[str, Any]:
  """Returns the size and sha256 of a file.

  Args:
    file_name: Of the file.
    size: Where given and not the file's, the file is not read.
  """
  actual = tf.io.gfile.stat(file_name).length
  if size not in (None, actual):
    return {'size': actual, 'sha256': None}
  digest = hashlib.sha256()
  with tf.io.gfile.GFile(file_name, 'rb') as file:
    while chunk := file.read(_CHUNK_BYTES):
      digest.update(chunk)
  return {'size': actual, 'sha256': digest.hexdigest()}


def describe_bytes(data: bytes) -> dict[str, Any]:
  """Returns what `describe` says of a file that holds `data`."""
  return {'size': len(data), 'sha256': hashlib.sha256(data).hexdigest()}


def _remove(path):
  # The manifest goes first: nobody shall read what is being removed.
  for remove, name in (
    (tf.io.gfile.remove, os.path.join(path, MANIFEST)),
    (tf.io.gfile.rmtree, path),
  ):
    # It may be incomplete, or another process faster.
    with contextlib.suppress(tf.errors.NotFoundError):
      remove(name)


def _manifest_sha256(manifest):
  """Returns the sha256 of a manifest, its own left out."""
  rest = {name: v for name, v in manifest.items() if name != _OWN_SHA256}
  return hashlib.sha256(
    json.dumps(rest, sort_keys=True).encode('utf-8')
  ).hexdigest()


def _describe_files(path):
  files = {}
  for folder, _, names in tf.io.gfile.walk(path):
    for name in names:
      file_name = os.path.join(folder, name)
      files[os.path.relpath(file_name, path)] = describe(file_name)
  return files
