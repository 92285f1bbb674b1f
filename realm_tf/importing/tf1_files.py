"""Finds the checkpoints and files of --source=tf1:..."""

import os
import re
from typing import NamedTuple, Optional

import tensorflow as tf

from realm_tf import errors

_STEP = re.compile(r'(.*)-(\d+)')


class Found(NamedTuple):
  """Sorted prefixes of a model's checkpoints, and other files."""

  prefixes: list[str]
  others: list[str]

  def only(self, name: str) -> Optional[str]:
    """Returns the file of a name, or None; UserError for different files."""
    paths = sorted({p for p in self.others if os.path.basename(p) == name})
    if len({tf.io.gfile.stat(path).length for path in paths}) > 1:
      raise errors.UserError(
        f'There must be one {name}. Found different ones, '
        f'{" and ".join(paths)}. Name the right one, as --vocab_file or '
        '--blocks.'
      )
    return paths[0] if paths else None


def find(source: str) -> Found:
  """Finds the newest checkpoint of each training job, and other files.

  The source is comma-separated prefixes, or directories to search at any depth.
  """
  prefixes, others = [], []
  for item in filter(None, source.split(',')):
    if tf.io.gfile.exists(f'{item}.index'):
      prefixes.append(item)
      others += _beside(os.path.dirname(item))
    elif tf.io.gfile.isdir(item):
      in_directory, files = _search(item)
      prefixes += in_directory
      others += files
    else:
      raise _no_checkpoint(item, f'neither {item}.index nor a directory')
  if not prefixes:
    raise _no_checkpoint(source, 'no file *.index')
  return Found(sorted(set(prefixes)), others)


def _no_checkpoint(source: str, found: str) -> errors.UserError:
  return errors.UserError(
    f'tf1:{source} must be the prefix of a checkpoint with the files '
    f'PREFIX.index and PREFIX.data-..., or a directory of checkpoints. Found '
    f'{found}. Check --source.'
  )


def _search(directory: str) -> tuple[list[str], list[str]]:
  """Returns the checkpoints at any depth, and all other files."""
  prefixes, files = [], []
  for folder, _, names in tf.io.gfile.walk(directory):
    newest = {}
    for name in names:
      files.append(os.path.join(folder, name))
      if name.endswith('.index') and '.tempstate' not in name:
        stem = name[: -len('.index')]
        match = _STEP.fullmatch(stem)
        key, step = (match[1], int(match[2])) if match else (stem, -1)
        newest[key] = max(newest.get(key, (-1, stem)), (step, stem))
    prefixes += [os.path.join(folder, stem) for _, stem in newest.values()]
  return prefixes, files


def _beside(folder: str) -> list[str]:
  """Returns the vocabulary and blocks next to a checkpoint or TF Hub module."""
  parent = os.path.dirname(folder)
  paths = [
    os.path.join(place, 'vocab.txt')
    for place in (
      folder,
      os.path.join(folder, 'assets'),
      os.path.join(parent, 'assets'),
    )
  ]
  paths.append(os.path.join(folder, 'blocks.tfr'))
  return [path for path in paths if tf.io.gfile.exists(path)]
