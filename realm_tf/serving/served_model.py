"""The model that the server answers with: found, opened, warmed and swapped.

model directory -> `load` -> answerer, edits -> `live`: newer ones in its place
"""

import functools
from typing import Any, NamedTuple, Optional

from realm_tf import errors
from realm_tf.answering import answerer as answerer_lib
from realm_tf.answering import loading
from realm_tf.live import edited_corpus
from realm_tf.retrieval import bm25
from realm_tf.retrieval import hot_swap
from realm_tf.rundir import layout
from realm_tf.rundir import manifests
from realm_tf.rundir import versions


class Versions(NamedTuple):
  """The newest versions in a model directory.

  Attributes:
    params_step: Step of the newest parameters; -1 if there are none.
    index_step: Step of the newest index; -1 if there is none, or if it is an
      index that stays the same.
  """

  params_step: int
  index_step: int


class ServedModel(NamedTuple):
  """A model to answer with.

  Attributes:
    answerer: An answerer with a reader.
    edits: Changed texts and documents; None if neither may be changed.
    can_edit: Whether the page may change texts.
  """

  answerer: answerer_lib.Answerer
  edits: Optional[edited_corpus.EditedCorpus]
  can_edit: bool = False


def newest(model_dir: str, index_dir: Optional[str] = None) -> Versions:
  """Returns the newest versions.

  Args:
    index_dir: An index version, which stays the same, or a directory of them;
      by default the model directory's own.
  """
  params = versions.newest(layout.params_root(model_dir))
  index = None
  if not (index_dir and versions.is_complete(index_dir)):
    index = versions.newest(index_dir or layout.index_root(model_dir))
  return Versions(*(-1 if v is None else v.step for v in (params, index)))


def load(
  model_dir: str,
  corpus_dir: str,
  index_dir: Optional[str] = None,
  choices: loading.Choices = loading.DEFAULT_CHOICES,
  allow_edits: bool = False,
  is_live: bool = False,
  build_sparse: loading.SparseBuilder = bm25.over_table,
) -> ServedModel:
  """Opens a model and warms it; see `loading.load_answerer`.

  Args:
    is_live: Whether documents may be added and removed.
    build_sparse: See `loading.answerer_of`; one that keeps what it built saves
      the work when the next model of the same corpus is loaded.

  Raises:
    UserError: See `loading.load_answerer`; or it has no reader.
  """
  if is_live and choices.sparse_weight:
    raise errors.UserError(
      '--documents_log must be without --sparse_weight: BM25 does not know '
      f'added documents. Found {choices.sparse_weight:g}. Leave one out.'
    )
  loaded = loading.load(model_dir, corpus_dir, index_dir)
  edits = None
  if allow_edits or is_live:
    edits = edited_corpus.EditedCorpus(loaded)
    loaded = edits.opened
  answerer = loading.answerer_of(loaded, choices, build_sparse)
  loading.require_reader(answerer.reader, model_dir)
  _warm(answerer)
  if edits is not None:
    edits.warm()
  return ServedModel(answerer, edits, allow_edits)


def live(
  model_dir: str,
  corpus_dir: str,
  index_dir: Optional[str] = None,
  **options: Any,
) -> hot_swap.HotSwap[Versions, ServedModel]:
  """Loads a model that newer versions may replace.

  Args:
    index_dir: See `newest`.
    **options: Further arguments of `load`.
  """
  build_sparse = bm25.KeptOverTable()
  swap: hot_swap.HotSwap[Versions, ServedModel] = hot_swap.HotSwap(
    functools.partial(newest, model_dir, index_dir),
    lambda _: load(
      model_dir, corpus_dir, index_dir, build_sparse=build_sparse, **options
    ),
  )
  swap.load_first()
  manifests.check_in_background(
    corpus_dir, swap.current.answerer.table.manifest
  )
  return swap


def _warm(answerer: answerer_lib.Answerer) -> None:
  """Answers a question at each batch size that a searcher may compile for."""
  full = answerer.finetuning.eval_batch_size
  question = ' '.join(answerer.table.titles([0])) or '?'
  sizes = [1 << power for power in range(full.bit_length())]
  for size in {*(size for size in sizes if size < full), full}:
    answerer.answer([question] * size, 1)
