"""Finds, opens, warms and swaps the model of the server."""

from collections.abc import Callable
import functools
import threading
from typing import Any, NamedTuple

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.config import names
from realm_tf.data import block_table
from realm_tf.index import model_files
from realm_tf.qa import answerer as answerer_lib
from realm_tf.qa import loading
from realm_tf.retrieval import hot_swap
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.retrieval import retrievers
from realm_tf.retrieval import word_search
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.serving import edited_corpus
from realm_tf.serving import explorer as explorer_lib

BuildBm25 = Callable[[block_table.BlockTable], word_search.Bm25Retriever]


class Versions(NamedTuple):
  """Steps of the newest parameters and index of a model.

  A step is -1 where there is no version, or where the index is fixed.
  """

  params_step: int
  index_step: int


class ServedModel(NamedTuple):
  """A model; `edits` is None if nothing may be changed."""

  answerer: answerer_lib.Answerer
  explorer: explorer_lib.Explorer
  edits: edited_corpus.EditedCorpus | None = None
  can_edit: bool = False


class KeptBm25:
  """Builds BM25, and keeps it until another corpus is given."""

  def __init__(self) -> None:
    self._lock = threading.Lock()
    self._built: dict[str, word_search.Bm25Retriever] = {}  # By fingerprint.

  def __call__(
    self, table: block_table.BlockTable
  ) -> word_search.Bm25Retriever:
    fingerprint = table.manifest['corpus_fingerprint']
    with self._lock:
      if fingerprint not in self._built:
        self._built = {fingerprint: word_search.over_table(table)}
      return self._built[fingerprint]


def newest(model_dir: str, index_dir: str | None = None) -> Versions:
  """Returns the newest versions.

  `index_dir` is a fixed index version, or a directory of versions; by default
  the model directory's own.
  """
  params = versions.newest(layout.params_root(model_dir))
  index = None
  if not (index_dir and versions.is_complete(index_dir)):
    index = versions.newest(index_dir or layout.index_root(model_dir))
  return Versions(*(-1 if v is None else v.step for v in (params, index)))


def load(
  model_dir: str,
  corpus_dir: str,
  index_dir: str | None = None,
  choices: loading.Choices = loading.DEFAULT_CHOICES,
  allow_edits: bool = False,
  is_live: bool = False,
  build_sparse: BuildBm25 | None = None,
) -> ServedModel:
  """Opens a model and warms it; UserError if it is incomplete or damaged.

  Args:
    allow_edits: Whether the page may change texts.
    is_live: Whether documents may be added and removed.
    build_sparse: Makes BM25 over the corpus, or returns a kept one.
  """
  if is_live and choices.retriever not in (names.MODEL, names.BM25):
    raise errors.UserError(
      '--documents_log must be with a search that finds added documents, by a '
      f'model or by BM25. Found --retriever={choices.retriever}. Give '
      '--retriever=model or --retriever=bm25.'
    )
  build_sparse = build_sparse or KeptBm25()
  loaded = loading.load(model_dir, corpus_dir, index_dir, choices.retriever)
  corpus, edits = loaded.table, None
  article_blocks, new_titles = corpus.article_blocks, list
  build_words: Any = functools.partial(build_sparse, corpus)
  if allow_edits or is_live:
    edits = edited_corpus.EditedCorpus(loaded, build_words)
    loaded, build_words = edits.opened, edits.words.load
    article_blocks, new_titles = edits.article_blocks, edits.titles
  answerer = loading.answerer_of(loaded, choices, lambda _: build_words())
  _warm(answerer)
  if edits is not None:
    edits.warm()
  explorer = explorer_lib.Explorer(
    answerer,
    functools.cache(lambda: _by_embeddings(answerer, choices, loaded))
    if loaded.index
    else None,
    corpus,
    _name_of(choices),
    choices.sparse_weight or 1.0,
    article_blocks,
    build_words,
    new_titles,
  )
  return ServedModel(answerer, explorer, edits, allow_edits)


def live(
  model_dir: str, corpus_dir: str, index_dir: str | None = None, **options: Any
) -> hot_swap.HotSwap[Versions, ServedModel]:
  """Loads a model that newer versions may replace; arguments as for `load`."""
  build_sparse = KeptBm25()
  swap: hot_swap.HotSwap[Versions, ServedModel] = hot_swap.HotSwap(
    functools.partial(newest, model_dir, index_dir),
    lambda _: load(
      model_dir, corpus_dir, index_dir, build_sparse=build_sparse, **options
    ),
  )
  swap.load_first()
  return swap


def _by_embeddings(
  answerer: answerer_lib.Answerer,
  choices: loading.Choices,
  loaded: model_files.OpenModel,
) -> interfaces.Retriever:
  """Returns the search by embeddings alone."""
  if choices.retriever == names.MODEL and not choices.sparse_weight:
    return answerer.retriever
  return retriever_lib.InBatches(
    retrievers.open(names.MODEL, loaded.table, loaded),
    answerer.finetuning.eval_batch_size,
  )


def _name_of(choices: loading.Choices) -> str:
  """Returns the explorer's name of a search, or ''."""
  if choices.retriever != names.MODEL:
    return explorer_lib.WORDS if choices.retriever == names.BM25 else ''
  return explorer_lib.BOTH if choices.sparse_weight else explorer_lib.EMBEDDINGS


def _warm(answerer: answerer_lib.Answerer) -> None:
  """Answers one batch of each size that a searcher may compile for."""
  full = answerer.finetuning.eval_batch_size
  question = ' '.join(answerer.table.titles([0])) or '?'
  sizes = [1 << power for power in range(full.bit_length())]
  for size in {*(size for size in sizes if size < full), full}:
    answerer.answer([question] * size, 1)
