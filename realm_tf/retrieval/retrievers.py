"""--retriever -> the retriever that it names."""

from collections.abc import Callable
from typing import Optional

from realm_tf import errors
from realm_tf.config import names
from realm_tf.index import model_files
from realm_tf.index import searcher as searcher_lib
from realm_tf.records import block_table
from realm_tf.retrieval import bm25
from realm_tf.retrieval import linked_blocks
from realm_tf.retrieval import path_searcher
from realm_tf.retrieval import retrieval_layer
from realm_tf.retrieval import retriever
from realm_tf.retrieval import tfidf

_BY_WORDS: dict[str, Callable[[block_table.BlockTable], retriever.Retriever]]
_BY_WORDS = {
  'bm25': bm25.over_table,
  'tfidf': tfidf.over_table,
  'bm25_graph': linked_blocks.LinkedBm25.over_table,
}


def open(
  kind: str,
  table: block_table.BlockTable,
  opened: Optional[model_files.OpenModel] = None,
) -> retriever.Retriever:
  """Opens the retriever that --retriever names.

  `names.MODEL` and `names.BY_LINKS` need a model with an index of the corpus.

  Raises:
    UserError: The corpus has no links, or the model does not score paths.
  """
  if kind == names.NOTHING:
    return retriever.Nothing()
  if kind in _BY_WORDS:
    return _BY_WORDS[kind](table)
  if opened is None:
    raise ValueError(f'A model must be given to search with. Found {kind!r}.')
  if kind == names.MODEL:
    return retrieval_layer.over_index(opened)
  searcher = _along_links(kind, table, opened)
  return retrieval_layer.over_index(opened, searcher)


def _along_links(
  kind: str, table: block_table.BlockTable, opened: model_files.OpenModel
) -> searcher_lib.Searcher:
  linked = linked_blocks.LinkedBlocks.over_table(table)
  index, scorer = opened.index, opened.model.path_scorer
  if kind == names.GRAPH:
    return linked_blocks.LinkedSearcher(
      linked, index.searcher, index.embeddings
    )
  if scorer is None:
    raise errors.UserError(
      '--retriever=path needs a model that scores paths. Found none in '
      f'{opened.path}. Make one with bin.train_path.'
    )
  paths = path_searcher.Paths(linked, index.embeddings)
  return path_searcher.PathSearcher(paths, index.searcher, scorer)
