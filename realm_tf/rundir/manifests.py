"""Directories that are complete once their manifest.json, written last, exists.

  files -> manifest.json: size and SHA-256 of each file, and of the manifest

Completeness needs no rename of a directory, which object stores lack, and
readers need no lock. Opening compares sizes, which is cheap for memory-mapped
files of any length; `check` with `contents` also reads and hashes every file. A
file that the manifest does not list is not part of the directory.
"""

from collections.abc import Iterable, Iterator, Mapping
import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from typing import Any
import uuid

import tensorflow as tf

from realm_tf import errors
from realm_tf.rundir import json_files

NAME = 'manifest.json'
_OWN_SHA256 = 'manifest_sha256'
_CHUNK_BYTES = 1 << 20


def is_complete(directory: str) -> bool:
  """Returns whether `directory` has its manifest."""
  return tf.io.gfile.exists(os.path.join(directory, NAME))


def check_output(output_dir: str, overwrite: bool = False) -> None:
  """Raises UserError if `output_dir` is complete and must be kept."""
  if not overwrite and is_complete(output_dir):
    raise errors.UserError(
      f'--output_dir must be new; {output_dir} has a {NAME} already. Give '
      'another directory, or --overwrite.'
    )


@contextlib.contextmanager
def publishing(output_dir: str) -> Iterator[tuple[str, dict[str, Any]]]:
  """Yields (staging directory, metadata) to fill, then publishes both.

  The files of an older manifest in `output_dir` are deleted first. If the body
  raises, nothing is published.

  Raises:
    UserError: A file cannot be written, here or in the body.
  """
  is_remote = '://' in output_dir
  if is_remote:
    staging = tempfile.mkdtemp()
  else:
    # On the file system of `output_dir`, so that a move is a rename.
    staging = f'{output_dir.rstrip("/")}.{uuid.uuid4().hex[:8]}.tmp'
    os.makedirs(staging)
  published = []
  try:
    metadata: dict[str, Any] = {}
    yield staging, metadata
    files = describe_all(staging)
    _delete_published(output_dir)
    for name in files:
      path = os.path.join(output_dir, name)
      published.append(path)
      tf.io.gfile.makedirs(os.path.dirname(path))
      move = tf.io.gfile.copy if is_remote else os.replace
      move(os.path.join(staging, name), path)
    metadata.update(write(output_dir, files, metadata))
  except (OSError, tf.errors.OpError) as error:  # Usually a full disk.
    _remove(published)
    raise errors.UserError(
      f'{output_dir} must be writable and have room; writing ended with: '
      f'{error}. Nothing is left of it. Free some space, or write elsewhere.'
    ) from error
  finally:
    shutil.rmtree(staging, ignore_errors=True)


def write(
  directory: str,
  files: Mapping[str, Mapping[str, Any]],
  metadata: Mapping[str, Any],
) -> dict[str, Any]:
  """Completes a directory by writing its manifest, and returns that.

  Args:
    directory: Holds all files already.
    files: Path below `directory` -> result of `describe` or `describe_bytes`.
    metadata: Further entries of the manifest.
  """
  manifest = json.loads(json.dumps({**metadata, 'files': files}))
  manifest[_OWN_SHA256] = _own_sha256(manifest)
  json_files.write(os.path.join(directory, NAME), manifest)
  return manifest


def read(
  directory: str, what: str, made_by: str, key: str = 'files'
) -> dict[str, Any]:
  """Returns the manifest of a directory; each file has 'size' and 'sha256'.

  Args:
    what: Its kind, for error messages, e.g. 'a corpus directory'.
    made_by: What writes such directories, e.g. 'bin.make_blocks'.
    key: An entry that only manifests of this kind have.

  Raises:
    UserError: There is no manifest, it was changed, or is of another kind.
  """
  path = os.path.join(directory, NAME)
  if not tf.io.gfile.exists(path):
    raise errors.UserError(
      f'{directory} must be {what}. Found no {NAME} in it. Make one with '
      f'{made_by}.'
    )
  manifest = json_files.read(path)
  if not isinstance(manifest, dict):
    raise errors.UserError(
      f'{path} must be JSON. Found something else. Make {what} again with '
      f'{made_by}.'
    )
  if key not in manifest or 'files' not in manifest:
    raise errors.UserError(
      f'{directory} must be {what}. Found no {key!r} in its {NAME}. Make one '
      f'with {made_by}.'
    )
  # Older manifests lack the checksum of the manifest.
  if manifest.get(_OWN_SHA256, _own_sha256(manifest)) != _own_sha256(manifest):
    raise errors.UserError(
      f'{path} must be as it was written. Found another SHA-256 than its own. '
      f'Make {what} again with {made_by}.'
    )
  for entry in manifest['files'].values():
    if 'bytes' in entry:  # How older corpora spell it.
      entry['size'] = entry.pop('bytes')
  return manifest


def check(directory: str, manifest: Mapping[str, Any], contents: bool) -> None:
  """Compares the files of a directory with its manifest.

  Args:
    manifest: Its manifest, from `read`.
    contents: Whether to read all files and compare their SHA-256; otherwise
      only sizes are compared.

  Raises:
    UserError: Names the first file that is missing, unreadable or changed.
  """
  for name, expected in manifest['files'].items():
    path = os.path.join(directory, name)
    try:
      found = {'size': tf.io.gfile.stat(path).length}
      if contents and found['size'] == expected['size']:
        found = describe(path)
    except tf.errors.OpError as error:
      raise errors.UserError(
        f'{path} must be there, as {NAME} lists it. Found: '
        f'{error.message or type(error).__name__}. Make {directory} again.'
      ) from error
    # The oldest corpora have no checksums.
    if any(found[key] != expected.get(key, found[key]) for key in found):
      raise errors.UserError(
        f'{path} must be as it was written, {expected}. Found {found}: it was '
        'changed, or the disk is faulty. Copy it from elsewhere, or make '
        f'{directory} again.'
      )


def describe(path: str) -> dict[str, Any]:
  """Returns the size and SHA-256 of a file."""
  digest, size = hashlib.sha256(), 0
  with tf.io.gfile.GFile(path, 'rb') as file:
    while chunk := file.read(_CHUNK_BYTES):
      digest.update(chunk)
      size += len(chunk)
  return {'size': size, 'sha256': digest.hexdigest()}


def describe_bytes(data: bytes) -> dict[str, Any]:
  """Returns the result of `describe` for a file that holds `data`."""
  return {'size': len(data), 'sha256': hashlib.sha256(data).hexdigest()}


def describe_all(directory: str) -> dict[str, dict[str, Any]]:
  """Returns path below `directory` -> `describe`, for files at any depth."""
  paths = sorted(
    os.path.join(folder, name)
    for folder, _, names in tf.io.gfile.walk(directory)
    for name in names
  )
  return {os.path.relpath(path, directory): describe(path) for path in paths}


def _own_sha256(manifest):
  rest = {name: v for name, v in manifest.items() if name != _OWN_SHA256}
  text = json.dumps(rest, sort_keys=True)
  return hashlib.sha256(text.encode('utf-8')).hexdigest()


def _delete_published(output_dir):
  if not is_complete(output_dir):
    return
  path = os.path.join(output_dir, NAME)
  manifest = json_files.read(path)
  tf.io.gfile.remove(path)  # First: readers trust nothing without it.
  files = manifest.get('files', {}) if isinstance(manifest, dict) else {}
  _remove(os.path.join(output_dir, name) for name in files)


def _remove(paths: Iterable[str]):
  for path in paths:
    if tf.io.gfile.exists(path):
      tf.io.gfile.remove(path)
