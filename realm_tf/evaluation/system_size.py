"""Measures what a system needs to answer: parameters and megabytes.

model, index and corpus directories -> [this file] -> columns of Table 1
"""

import os
from typing import Optional

import tensorflow as tf

from realm_tf.index import model_files
from realm_tf.modeling import path_scorer
from realm_tf.modeling import seq2seq
from realm_tf.retrieval import retrievers

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

  Embed_doc and the head for masked words answer no question. Words are searched
  in memory, so of BM25 and TF-IDF only the corpus counts.

  Args:
    retriever: `evaluate --retriever`; 'none' reads no corpus.
    index_dir: By default the model directory's newest.
  """
  searches = retriever in (retrievers.MODEL, *retrievers.BY_LINKS)
  num_parameters, num_bytes = 0, 0
  used = {model_dir: _READER if not reader_dir else ()}
  used |= {reader_dir: _READER} if reader_dir else {}
  if searches:
    used[model_dir] += _QUERY_TOWER
  if retriever == retrievers.PATH:
    used[model_dir] += _PATH
  if retriever == retrievers.NOTHING:
    used = {model_dir: seq2seq.PREFIXES}
  for directory, prefixes in used.items():
    if directory:
      number, size = _weights(directory, prefixes)
      num_parameters, num_bytes = num_parameters + number, num_bytes + size
  if retriever != retrievers.NOTHING:
    num_bytes += _files(corpus_dir)
  if searches:
    if not index_dir:
      index_dir = model_files.open_model(model_dir).newest_index.path
    num_bytes += _files(index_dir)
  return {'parameters': num_parameters, 'megabytes': num_bytes / 1e6}


def _weights(model_dir, prefixes):
  """Returns the number and the bytes of a model's weights of these names."""
  arrays = model_files.open_model(model_dir).read_params()
  used = [arrays[name] for name in arrays if name.startswith(prefixes)]
  return sum(a.size for a in used), sum(a.nbytes for a in used)


def _files(directory):
  """Returns the bytes of a directory's files."""
  return sum(
    tf.io.gfile.stat(os.path.join(folder, name)).length
    for folder, _, names in tf.io.gfile.walk(directory)
    for name in names
  )
