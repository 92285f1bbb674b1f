"""A directory of records is complete once its manifest.json is there.

Files are written in a staging directory, checksummed, and moved to their place,
the manifest last; a reader of a directory without manifest refuses it.
"""

from collections.abc import Iterable, Iterator
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

_NAME = 'manifest.json'
_CHUNK_BYTES = 1 << 20


def check_output(output_dir: str, overwrite: bool = False):
  """Raises UserError if `output_dir` is complete and not to be overwritten."""
  if not overwrite and tf.io.gfile.exists(os.path.join(output_dir, _NAME)):
    raise errors.UserError(
      f'--output_dir must be new; {output_dir} has a {_NAME} already. Give '
      'another directory, or --overwrite.'
    )


@contextlib.contextmanager
def publishing(output_dir: str) -> Iterator[tuple[str, dict[str, Any]]]:
  """Yields (staging directory, manifest) to fill; then publishes both.

  The manifest gets 'files': the size and SHA-256 of each. What an older
  manifest in `output_dir` lists is deleted first. If the body raises, nothing
  is published.

  Raises:
    UserError: Something cannot be written, here or in the body.
  """
  is_remote = '://' in output_dir
  if is_remote:
    staging = tempfile.mkdtemp()
  else:
    # Beside its goal, so that a move is a rename.
    staging = f'{output_dir.rstrip("/")}.{uuid.uuid4().hex[:8]}.tmp'
    os.makedirs(staging)
  goals = []
  try:
    manifest: dict[str, Any] = {}
    yield staging, manifest
    manifest['files'] = _describe_files(staging)
    _delete_published(output_dir)
    for name in manifest['files']:
      goal = os.path.join(output_dir, name)
      goals.append(goal)
      tf.io.gfile.makedirs(os.path.dirname(goal))
      move = tf.io.gfile.copy if is_remote else os.replace
      move(os.path.join(staging, name), goal)
    with tf.io.gfile.GFile(os.path.join(output_dir, _NAME), 'w') as file:
      file.write(json.dumps(manifest, indent=2, ensure_ascii=False) + '\n')
  except (OSError, tf.errors.OpError) as error:  # Mostly a full disk.
    _remove(goals)
    raise errors.UserError(
      f'{output_dir} must be writable and have room; writing ended with: '
      f'{error}. Nothing is left of it. Free some space, or write elsewhere.'
    ) from error
  finally:
    shutil.rmtree(staging, ignore_errors=True)


def read(directory: str, what: str, made_by: str, key: str) -> dict[str, Any]:
  """Reads a manifest and checks that its files are there in full.

  Args:
    directory: Of records.
    what: What the user should have given, e.g. 'a corpus directory'.
    made_by: What makes one, e.g. 'bin.make_blocks'.
    key: An entry that only manifests of this kind have.

  Raises:
    errors.UserError: It is none, or not complete.
  """
  path = os.path.join(directory, _NAME)
  if not tf.io.gfile.exists(path):
    raise errors.UserError(
      f'{directory} must be {what}; it has no {_NAME}. Make one with {made_by}.'
    )
  with tf.io.gfile.GFile(path) as file:
    try:
      manifest = json.loads(file.read())
    except json.JSONDecodeError as error:
      raise errors.UserError(
        f'{path} must be JSON; line {error.lineno}: {error.msg}. Make {what} '
        f'again with {made_by}.'
      ) from error
  if key not in manifest:
    raise errors.UserError(
      f'{directory} must be {what}; its {_NAME} has no {key}. Make one with '
      f'{made_by}.'
    )
  for name, entry in manifest['files'].items():
    file_path = os.path.join(directory, name)
    size = (
      tf.io.gfile.stat(file_path).length
      if tf.io.gfile.exists(file_path)
      else 'none'
    )
    if size != entry['bytes']:
      raise errors.UserError(
        f'{file_path} must have {entry["bytes"]} bytes as in {_NAME}; it has '
        f'{size}. Make {what} again with {made_by}.'
      )
  return manifest


def verify(directory: str) -> int:
  """Reads all files of a directory whose manifest `read` has accepted.

  Takes as long as reading them: for jobs that read all of them anyway.

  Returns:
    Bytes of all files.

  Raises:
    UserError: A file is not as it was written.
  """
  with tf.io.gfile.GFile(os.path.join(directory, _NAME)) as file:
    files = json.loads(file.read())['files']
  for name, entry in files.items():
    path = os.path.join(directory, name)
    found = _sha256(path)
    if found != entry['sha256']:
      raise errors.UserError(
        f'{path} must be as it was written, with the SHA-256 '
        f'{entry["sha256"][:12]}... of {_NAME}. Found {found[:12]}...: it was '
        'changed, or the disk is faulty. Copy it from elsewhere, or make '
        f'{directory} again.'
      )
  return sum(entry['bytes'] for entry in files.values())


def _describe_files(staging: str) -> dict[str, dict[str, Any]]:
  files = {}
  for folder, _, names in os.walk(staging):
    for name in names:
      path = os.path.join(folder, name)
      files[os.path.relpath(path, staging)] = {
        'bytes': os.path.getsize(path),
        'sha256': _sha256(path),
      }
  return dict(sorted(files.items()))


def _sha256(path: str) -> str:
  digest = hashlib.sha256()
  with tf.io.gfile.GFile(path, 'rb') as file:
    while chunk := file.read(_CHUNK_BYTES):
      digest.update(chunk)
  return digest.hexdigest()


def _delete_published(output_dir: str):
  path = os.path.join(output_dir, _NAME)
  if not tf.io.gfile.exists(path):
    return
  with tf.io.gfile.GFile(path) as file:
    names = json.loads(file.read())['files']
  tf.io.gfile.remove(path)  # First: without it the rest is not trusted.
  _remove(os.path.join(output_dir, name) for name in names)


def _remove(paths: Iterable[str]):
  for path in paths:
    if tf.io.gfile.exists(path):
      tf.io.gfile.remove(path)
