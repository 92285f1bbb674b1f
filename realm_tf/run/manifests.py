"""Directories that are complete once manifest.json exists, written last.

The manifest has the size and SHA-256 of each file, and its own SHA-256. Readers
need no lock, and no directory is renamed: object stores cannot. Opening
compares sizes and hashes small files; `check` with `contents` hashes all files.

Manifests may come from strangers: all fields are checked. Jobs open, copy and
delete the named files, so names that lead out of the directory, by '..' or by
links, are refused.
"""

from collections.abc import Iterable, Mapping, Sequence
import hashlib
import json
import os
import shutil
from typing import Any, NamedTuple, TypedDict

import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text

NAME = 'manifest.json'
# Files up to this size are hashed when a directory is opened, in some 10 ms
# each. Readers check samples of larger files.
SMALL_BYTES = 8 << 20
_OWN_SHA256 = 'manifest_sha256'
_FORBIDDEN = '\\:\0'  # Occur in other systems' paths, drives and URLs.
_CHUNK_BYTES = 1 << 20


class _File(TypedDict):
  size: json_text.COUNT
  sha256: json_text.SHA256


_FIELDS = {'files': dict[str, _File], _OWN_SHA256: json_text.SHA256}


class Kind(NamedTuple):
  """A kind of directories with a manifest."""

  what: str  # For errors, e.g. 'a corpus directory'.
  made_by: str  # For errors, e.g. 'bin.make_blocks'.
  # Further fields of the manifest.
  fields: Mapping[str, json_text.Shape]
  files: Sequence[str] = ()  # Files that the manifest must list.


ANY = Kind('a directory with a manifest', 'the job that wrote it', {})


def is_complete(directory: str) -> bool:
  """Returns whether `directory` has its manifest."""
  return tf.io.gfile.exists(os.path.join(directory, NAME))


def write(
  directory: str,
  files: Mapping[str, Mapping[str, Any]],
  metadata: Mapping[str, Any],
) -> dict[str, Any]:
  """Completes a directory by writing its manifest; returns the manifest.

  Args:
    files: Path below `directory` -> result of `describe` or `describe_bytes`.
    metadata: Further entries of the manifest.
  """
  manifest = json.loads(json.dumps({**metadata, 'files': files}))
  manifest[_OWN_SHA256] = _own_sha256(manifest)
  json_text.write(os.path.join(directory, NAME), manifest)
  return manifest


def read(directory: str, kind: Kind) -> dict[str, Any]:
  """Returns the manifest of a directory; each file has 'size' and 'sha256'.

  Raises:
    UserError: The manifest is missing, changed, of another kind, or names a
      file outside of the directory.
  """
  path = os.path.join(directory, NAME)
  if not tf.io.gfile.exists(path):
    raise errors.UserError(
      f'{directory} must be {kind.what}. Found no {NAME} in it. Make one with '
      f'{kind.made_by}.'
    )
  advice = f'Give or make {kind.what}, with {kind.made_by}.'
  manifest = json_text.read_object(path, advice)
  json_text.check(manifest, {**_FIELDS, **kind.fields}, path, advice)
  if manifest[_OWN_SHA256] != _own_sha256(manifest):
    raise errors.UserError(
      f'{path} must be unchanged. Found another SHA-256 than its own. {advice}'
    )
  check_names(directory, manifest['files'])
  require_files(manifest, kind.files, path, advice)
  return manifest


def require_files(
  manifest: Mapping[str, Any], names: Sequence[str], path: str, advice: str
) -> None:
  """Raises UserError if the manifest, from `path`, lacks a file."""
  for name in names:
    if name not in manifest['files']:
      raise errors.UserError(
        f"'files' in {path} must list {name}. Found no such name. {advice}"
      )


def check(directory: str, manifest: Mapping[str, Any], contents: bool) -> None:
  """Compares the files of a directory with its manifest.

  Args:
    contents: Whether to compare the SHA-256 of large files too; sizes are
      always compared.

  Raises:
    UserError: Names the first file that is missing, unreadable or changed.
  """
  for name, expected in manifest['files'].items():
    path = os.path.join(directory, name)
    try:
      found = {'size': tf.io.gfile.stat(path).length}
      is_read = contents or expected['size'] <= SMALL_BYTES
      if is_read and found['size'] == expected['size']:
        found = describe(path)
    except (tf.errors.OpError, OSError) as error:
      raise errors.UserError(
        f'{path} must be there: {NAME} lists it. Found: '
        f'{getattr(error, "message", "") or error}. Make {directory} again.'
      ) from error
    if any(found[key] != expected[key] for key in found):
      raise errors.UserError(
        f'{path} must be unchanged, {expected}. Found {found}: it was changed, '
        'or the disk is faulty. Copy it from elsewhere, or make '
        f'{directory} again.'
      )


def describe(path: str) -> dict[str, Any]:
  """Returns size and SHA-256 of a file."""
  digest, size = hashlib.sha256(), 0
  with tf.io.gfile.GFile(path, 'rb') as file:
    while chunk := file.read(_CHUNK_BYTES):
      digest.update(chunk)
      size += len(chunk)
  return {'size': size, 'sha256': digest.hexdigest()}


def describe_bytes(data: bytes) -> dict[str, Any]:
  """Returns the result of `describe` for a file with `data`."""
  return {'size': len(data), 'sha256': hashlib.sha256(data).hexdigest()}


def describe_all(directory: str) -> dict[str, dict[str, Any]]:
  """Returns the result of `describe` for each file's path below `directory`."""
  paths = sorted(
    os.path.join(folder, name)
    for folder, _, names in tf.io.gfile.walk(directory)
    for name in names
  )
  return {os.path.relpath(path, directory): describe(path) for path in paths}


def _own_sha256(manifest: Mapping[str, Any]) -> str:
  rest = {name: v for name, v in manifest.items() if name != _OWN_SHA256}
  try:
    text = json.dumps(rest, sort_keys=True)
  except RecursionError:  # The parser allows a few more levels.
    return ''
  return hashlib.sha256(text.encode('utf-8')).hexdigest()


def check_names(directory: str, names: Iterable[str]) -> None:
  """Raises UserError unless all names, with '/', are files below `directory`.

  The files need not exist.
  """
  root = None if '://' in directory else os.path.realpath(directory)
  for name in names:
    problem = ''
    if (
      not {'', '.', '..'}.isdisjoint(name.split('/'))
      or any(letter in _FORBIDDEN for letter in name)
      or not name.isprintable()
      or name.lower() == NAME
    ):
      problem = 'is no name of a file below it'
    elif root is not None:
      path = os.path.join(root, name)
      try:
        if not os.path.realpath(path).startswith(os.path.join(root, '')):
          problem = 'leads out of it by a link'
      except (OSError, ValueError) as error:
        problem = f'is no path: {error}'
    if problem:
      raise errors.UserError(
        f'Names in the manifest of {directory} must be of files below it. '
        f'Found {name[:200]!r}, which {problem}. Nothing was opened or '
        'deleted. Make the directory again, or take it from somebody whom you '
        'trust.'
      )
    if root is not None:
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
