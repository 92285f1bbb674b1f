"""Parameters and megabytes that a system needs to answer, as in Table 1."""

import os
from typing import Optional

import numpy as np
import tensorflow as tf

from realm_tf.config import names
from realm_tf.index import model_files
from realm_tf.model import path_scorer
from realm_tf.model import seq2seq

_QUERY_TOWER = ('shared_', 'query_')
_PATH = (path_scorer.PREFIX,)
_READER = ('reader_', 'span_reader/')


def measure(
  retriever: str,
  corpus_dir: str,
  model_dir: Optional[str],
  reader_dir: Optional[str] = None,
  index_dir: Optional[str] = None,
) -> dict[str, float]:
  """Returns the parameters used for a question, and megabytes of files read.

  Embed_doc and the head for masked words do not count: no question uses them.
  For BM25 and TF-IDF only the corpus counts: their index is never on disk.
  """
  searches = retriever in (names.MODEL, *names.BY_LINKS)
  used = _used(retriever, model_dir, reader_dir) if model_dir else {}
  arrays = [array for each in used.items() for array in _arrays(*each)]
  num_bytes = sum(array.nbytes for array in arrays)
  if retriever != names.NOTHING:
    num_bytes += _num_bytes(corpus_dir)
  if searches and model_dir:
    newest = model_files.open_model(model_dir).newest_index
    num_bytes += _num_bytes(index_dir or (newest.path if newest else ''))
  return {
    'parameters': sum(array.size for array in arrays),
    'megabytes': num_bytes / 1e6,
  }


def _used(
  retriever: str, model_dir: str, reader_dir: Optional[str]
) -> dict[str, tuple[str, ...]]:
  """Returns model directory -> prefixes of its weights that are used."""
  if retriever == names.NOTHING:
    return {model_dir: seq2seq.PREFIXES}
  used: dict[str, tuple[str, ...]] = {reader_dir or model_dir: _READER}
  if retriever in (names.MODEL, *names.BY_LINKS):
    used[model_dir] = (*used.get(model_dir, ()), *_QUERY_TOWER)
  if retriever == names.PATH:
    used[model_dir] = (*used.get(model_dir, ()), *_PATH)
  return used


def _arrays(model_dir: str, prefixes: tuple[str, ...]) -> list[np.ndarray]:
  """Returns a model's weights by the prefixes of their names."""
  arrays = model_files.open_model(model_dir).read_params()
  return [arrays[name] for name in arrays if name.startswith(prefixes)]


def _num_bytes(directory: str) -> int:
  return sum(
    tf.io.gfile.stat(os.path.join(folder, name)).length
    for folder, _, names in tf.io.gfile.walk(directory)
    for name in names
  )
