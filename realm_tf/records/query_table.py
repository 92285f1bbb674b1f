"""Pre-training queries on disk: wordpieces, maskable spans, own block.

manifest.json   schema_version, num_queries, vocabulary_sha256, masking,
corpus_fingerprint (null: of no corpus), num_dropped, source,
files
*.npy           columns (records/columns.py)
"""

from collections.abc import Iterable
import os
from typing import Any, NamedTuple, Optional

import numpy as np

from realm_tf import errors
from realm_tf.records import columns
from realm_tf.records import manifests

NO_BLOCK = -1
_SCHEMA_VERSION = 1
_MAX_SPAN = 10  # Wordpieces; the paper masks at most 10 of a query.


class Query(NamedTuple):
  """A sentence x before masking.

  Attributes:
    ids: int32 [L]; without [CLS] and [SEP].
    spans: int32 [S, 2]; tokens [start, end) that may be masked.
    own_block: Id of the block it was taken from, or NO_BLOCK.
    text: As it was written.
  """

  ids: np.ndarray
  spans: np.ndarray
  own_block: int = NO_BLOCK
  text: str = ''


class QueriesInfo(NamedTuple):
  """What the manifest says about a directory of queries.

  Attributes:
    vocabulary_sha256: Of the vocabulary of the wordpieces.
    masking: 'salient' queries have spans; of the others any token is masked.
    corpus_fingerprint: Of the corpus that own blocks are of; None without.
    source: Where the sentences came from.
  """

  vocabulary_sha256: str
  masking: str
  corpus_fingerprint: Optional[str]
  source: dict[str, Any]


def write_queries(
  queries: Iterable[Query], output_dir: str, info: QueriesInfo
) -> dict[str, Any]:
  """Writes a directory of queries in one pass and returns its manifest.

  Spans above 10 wordpieces are dropped; then, for salient masking, queries
  without spans. 'num_dropped' of the manifest counts both.

  Raises:
    errors.UserError: No query is left.
  """
  dropped = {'spans_too_long': 0, 'queries_without_span': 0}
  own_blocks = []
  with manifests.publishing(output_dir) as (staging, manifest):
    ids, spans, texts = (
      columns.ColumnWriter(staging, name, dtype)
      for name, dtype in (
        ('ids', np.int32),
        ('spans', np.int32),
        ('texts', np.uint8),
      )
    )
    for query in queries:
      kept = _short_spans(query.spans, dropped)
      if info.masking == 'salient' and not len(kept):
        dropped['queries_without_span'] += 1
        continue
      ids.append(query.ids)
      spans.append(kept.ravel())
      texts.append(query.text)
      own_blocks.append(query.own_block)
    for column in (ids, spans, texts):
      column.close()
    if not own_blocks:
      raise errors.UserError(
        'Pre-training needs at least one query; none of the input has a '
        f'span to mask ({dropped}). Check --input and --tagger.'
      )
    np.save(
      os.path.join(staging, 'own_blocks.npy'), np.array(own_blocks, np.int64)
    )
    manifest.update(
      schema_version=_SCHEMA_VERSION,
      num_queries=len(own_blocks),
      num_dropped=dropped,
      **info._asdict(),
    )
  return manifest


def _short_spans(spans, dropped):
  """Returns the spans that may be kept, and counts the others."""
  spans = np.asarray(spans, np.int32).reshape(-1, 2)
  fits = spans[:, 1] - spans[:, 0] <= _MAX_SPAN
  dropped['spans_too_long'] += int(np.sum(~fits))
  return spans[fits]


class QueryTable:
  """The queries X, memory-mapped; made by `open`.

  Attributes:
    manifest: Of the directory.
    num_queries: Their number.
    own_blocks: int64 [num_queries]; NO_BLOCK where there is none.
  """

  def __init__(self, queries_dir: str, manifest: dict[str, Any]):
    self.manifest = manifest
    self.own_blocks = np.asarray(
      columns.read_array(os.path.join(queries_dir, 'own_blocks.npy'))
    )
    self.num_queries = len(self.own_blocks)
    self._ids, self._spans, self._texts = (
      columns.RaggedColumn.open(queries_dir, name)
      for name in ('ids', 'spans', 'texts')
    )

  @classmethod
  def open(cls, queries_dir: str) -> 'QueryTable':
    """Opens a queries directory; UserError if it is none, or incomplete."""
    return cls(
      queries_dir,
      manifests.read(
        queries_dir, 'a queries directory', 'bin.make_queries', 'num_queries'
      ),
    )

  def check_corpus(self, corpus_manifest: dict[str, Any]):
    """Raises UserError unless the queries were made for this corpus."""
    keys = ['vocabulary_sha256']
    if (self.own_blocks != NO_BLOCK).any():  # Ids of blocks of one corpus.
      keys.append('corpus_fingerprint')
    for key in keys:
      if self.manifest[key] != corpus_manifest[key]:
        raise errors.UserError(
          f'Queries must be made with the corpus they train on. Found {key} '
          f'{str(self.manifest[key])[:12]} and a corpus with '
          f'{corpus_manifest[key][:12]}. Run bin.make_queries with this '
          '--corpus_dir.'
        )

  def query(self, i: int) -> Query:
    """Returns query `i`, unmasked."""
    return Query(
      self._ids.row(i),
      self._spans.row(i).reshape(-1, 2),
      int(self.own_blocks[i]),
      self._texts.text(i),
    )

  def num_spans(self) -> np.ndarray:
    """Returns the salient spans of each query, int32 [num_queries]."""
    return self._spans.lengths() // 2

  def lengths(self) -> np.ndarray:
    """Returns wordpieces of each query, int32 [num_queries]."""
    return self._ids.lengths()
