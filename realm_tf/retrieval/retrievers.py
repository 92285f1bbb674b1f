"""--retriever -> the retriever that it names, and searches of an index."""

from collections.abc import Callable
import functools

import numpy as np
import tf_keras

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.config import names
from realm_tf.data import block_table
from realm_tf.data import memory
from realm_tf.index import embedding
from realm_tf.index import model_files
from realm_tf.index import searcher as searcher_lib
from realm_tf.model import realm_model
from realm_tf.retrieval import linked_blocks
from realm_tf.retrieval import retriever
from realm_tf.retrieval import word_search

_MOST_KEPT_BYTES = 1 << 28
_Open = Callable[[block_table.BlockTable], interfaces.Retriever]
_BY_WORDS: dict[str, _Open] = {
  'bm25': word_search.over_table,
  'tfidf': word_search.tfidf_over_table,
  'bm25_graph': linked_blocks.LinkedBm25.over_table,
}


class RetrievalLayer(tf_keras.layers.Layer):
  """Finds the blocks of largest f(x,z), Section 3.3 of Guu et al. 2020.

  The layer runs eagerly, on the host, ahead of the compiled step. It has no
  gradient: the step computes f(x,z) of the found blocks again.

  Args:
    embed: Maps wordpieces, int32 [B, Lx], zeros after them, to float32 [B, D].
  """

  def __init__(
    self,
    embed: Callable[[np.ndarray], np.ndarray],
    searcher: interfaces.Searcher,
  ):
    super().__init__()
    self._embed, self._search = embed, searcher.search

  def call(self, query_ids: np.ndarray, k: int) -> interfaces.Neighbors:
    """Returns the best blocks, [B, k], of wordpieces, int32 [B, Lx]."""
    queries = self._embed(np.asarray(query_ids))  # [B, D]
    return searcher_lib.fill(self._search(queries, k), k)

  def retrieve(
    self, queries: interfaces.Queries, k: int
  ) -> interfaces.Neighbors:
    return self(queries.ids, k)


def over_model(
  model: realm_model.RealmModel,
  searcher: interfaces.Searcher,
  query_tokens: int,
  special_ids: tuple[int, int],
  backend: str = 'tensorflow',
  *,
  is_shared: bool = False,
) -> RetrievalLayer:
  """Returns a layer that embeds queries with a model's current variables.

  Args:
    backend: As `IndexConfig.embed_backend`; OpenVINO copies the variables.
    is_shared: Whether several systems ask the same queries, so that each is
      embedded once. The model must not learn then.
  """
  embed = embedding.compile_queries(model, query_tokens, special_ids, backend)
  return RetrievalLayer(_once(embed) if is_shared else embed, searcher)


def over_index(
  opened: model_files.OpenModel,
  searcher: interfaces.Searcher | None = None,
  *,
  is_shared: bool = False,
) -> RetrievalLayer:
  """Returns a layer over a model's index, or over another `searcher`."""
  return over_model(
    opened.model,
    searcher or opened.index.searcher,
    opened.config.lengths.query_tokens,
    opened.tokenizer.special_ids,
    opened.config.index.embed_backend,
    is_shared=is_shared,
  )


def _once(embed: interfaces.Embed) -> interfaces.Embed:
  """Returns `embed`, which keeps the embedding of each query."""
  kept = memory.Memory(_MOST_KEPT_BYTES)

  def of(query_ids: np.ndarray) -> np.ndarray:
    return np.concatenate(
      kept.values(
        [row[row > 0].tobytes() for row in query_ids],
        lambda rows: zip(embed(query_ids[rows])),
      )
    )

  return of


def open(
  kind: str,
  table: block_table.BlockTable,
  opened: model_files.OpenModel | None = None,
  *,
  is_shared: bool = False,
) -> interfaces.Retriever:
  """Opens the retriever that --retriever names.

  `names.MODEL` and `names.BY_LINKS` need a model with an index of the corpus.

  Args:
    is_shared: As in `over_model`.

  Raises:
    UserError: The corpus has no links, or the model does not score paths.
  """
  if kind == names.NOTHING:
    return retriever.Nothing()
  if kind in _BY_WORDS:
    return _BY_WORDS[kind](table)
  if opened is None:
    raise ValueError(f'A model must be given to search with. Found {kind!r}.')
  over = functools.partial(over_index, opened, is_shared=is_shared)
  if kind == names.MODEL:
    return over()
  index, scorer = opened.index, opened.model.path_scorer
  linked = linked_blocks.LinkedBlocks.over_table(table)
  if kind == names.GRAPH:
    return over(
      linked_blocks.LinkedSearcher(linked, index.searcher, index.embeddings)
    )
  if scorer is None:
    raise errors.UserError(
      '--retriever=path needs a model that scores paths. Found none in '
      f'{opened.path}. Make one with bin.train_path.'
    )
  paths = functools.partial(linked_blocks.find_paths, linked, index.embeddings)
  return over(linked_blocks.PathSearcher(paths, index.searcher, scorer))
