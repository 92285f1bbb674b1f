"""Numbered, immutable directories, by which trainer and refresher communicate.

A version such as <root>/000000500 counts only once its manifest is there
(`manifests`), so readers never lock or wait.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
import contextlib
import itertools
import os
import re
from typing import Any, NamedTuple, Optional

from absl import logging
import tensorflow as tf

from realm_tf import json_text
from realm_tf.run import layout
from realm_tf.run import manifests

# Names from `version_path`. `str.isdigit` also accepts '²' and '٣'.
_NAME = re.compile('[0-9]{9}|[1-9][0-9]{9,17}')
KIND = manifests.Kind(
  'a complete version', 'the job that wrote it', {'step': json_text.COUNT}
)

_IN_USE = json_text.object_of({'steps': list[json_text.COUNT]})


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
  """Publishes the files from `write(directory)` as version `step`.

  A complete version is returned unchanged. An incomplete version, left by a
  crash, is removed first. `metadata` are further entries of the manifest.
  """
  path = version_path(root, step)
  if is_complete(path):
    return Version(step, path)
  if tf.io.gfile.exists(path):
    manifests.remove_tree(path)
  tf.io.gfile.makedirs(path)
  write(path)
  return seal(path, step, manifests.describe_all(path), metadata)


def seal(
  path: str,
  step: int,
  files: Mapping[str, Mapping[str, Any]],
  metadata: Mapping[str, Any],
) -> Version:
  """Completes the version at `path` by writing its manifest."""
  manifests.write(path, files, {**metadata, 'step': step})
  return Version(step, path)


def version_path(root: str, step: int) -> str:
  """Returns the path of a step's version, which need not exist."""
  return os.path.join(root, f'{step:09d}')


is_complete = manifests.is_complete


def newest(root: str, above: int = -1) -> Optional[Version]:
  """Returns the complete version with the highest step > `above`, or None."""
  return next(complete(root, above, newest_first=True), None)


def oldest(root: str, above: int = -1) -> Optional[Version]:
  """Returns the complete version with the lowest step > `above`, or None."""
  return next(complete(root, above), None)


def complete(
  root: str, above: int = -1, newest_first: bool = False
) -> Iterator[Version]:
  """Yields the complete versions with steps > `above`, ascending by default."""
  for step in sorted(steps(root), reverse=newest_first):
    path = version_path(root, step)
    if step > above and is_complete(path):
      yield Version(step, path)


def steps(root: str) -> list[int]:
  """Returns the steps of all versions, complete or not, ascending."""
  try:
    names = tf.io.gfile.listdir(root)
  except tf.errors.NotFoundError:
    return []
  # An object store's folders end in a slash.
  return sorted(
    int(name)
    for name in (name.rstrip('/') for name in names)
    if _NAME.fullmatch(name)
  )


def verify(path: str) -> dict[str, Any]:
  """Checks every file of a version and returns the manifest.

  Raises:
    UserError: Names the first file that is missing or changed.
  """
  manifest = manifests.read(path, KIND)
  manifests.check(path, manifest, contents=True)
  return manifest


def prune(
  root: str,
  keep: int,
  in_use: Sequence[int] = (),
  release: Callable[[str], None] = lambda path: None,
) -> None:
  """Removes versions, except the newest `keep` complete ones and `in_use`.

  Older incomplete versions are removed too. `release` frees a version's
  resources elsewhere before it is removed.
  """
  newest_first = [version.step for version in complete(root, -1, True)]
  if len(newest_first) < keep:
    return
  for step in steps(root):
    if step < newest_first[keep - 1] and step not in in_use:
      path = version_path(root, step)
      release(path)
      # The manifest goes first, so that no reader opens a half-removed version,
      # which may be incomplete, or which another process may remove.
      with contextlib.suppress(tf.errors.NotFoundError):
        tf.io.gfile.remove(os.path.join(path, manifests.NAME))
      with contextlib.suppress(tf.errors.NotFoundError):
        manifests.remove_tree(path)


def declare_in_use(run_dir: str, process: int, in_use: Sequence[int]) -> None:
  """Declares the index versions that a trainer uses, for pruning to keep.

  A failure is only logged: if a version in use is removed, the trainer keeps
  the loaded one, or loads a newer one.

  Args:
    process: Number of this process; each has its own file.
    in_use: Steps of the loaded and the loading version; replace earlier ones.
  """
  path = layout.index_in_use_file(run_dir, process)
  try:
    json_text.write(path, {'steps': [int(step) for step in in_use]})
  except (OSError, tf.errors.OpError) as error:
    logging.warning('Could not write %s: %s', path, error)


def read_in_use(run_dir: str) -> list[int]:
  """Returns the steps that any process declared; [] if none can be read."""
  in_use: set[int] = set()
  for process in itertools.count():
    path = layout.index_in_use_file(run_dir, process)
    if not tf.io.gfile.exists(path):
      break
    in_use.update((json_text.read(path, _IN_USE) or {}).get('steps', []))
  return sorted(in_use)
