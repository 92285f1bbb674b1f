"""Writes directories of pre-training queries: queries -> columns, manifest."""

from collections.abc import Iterable, Iterator
import itertools
import os
from typing import Any

import numpy as np

from realm_tf import errors
from realm_tf.records import block_table
from realm_tf.records import columns
from realm_tf.records import null_block
from realm_tf.records import query_table
from realm_tf.rundir import outputs

_MAX_SPAN = 10  # Wordpieces; the paper masks at most 10 in a query.
_BATCH_QUERIES = 4096


def write(
  queries: Iterable[query_table.Query],
  output_dir: str,
  table: block_table.BlockTable,
  *,
  masking: str,
  source: dict[str, Any],
) -> dict[str, Any]:
  """Writes or replaces a directory of queries; returns its manifest.

  Spans above 10 wordpieces are dropped; for 'salient' masking, queries without
  a span too. 'num_dropped' of the manifest counts both. UserError if no query
  is left.

  Args:
    table: Corpus of the own blocks; its hashes find them in other corpora.
    masking: Kind of `masking.Masking`.
  """
  dropped = {'spans_too_long': 0, 'queries_without_span': 0}
  with outputs.publishing(output_dir) as (staging, manifest):
    kept = _with_short_spans(queries, masking == 'salient', dropped)
    own = _write_columns(kept, staging)
    if not len(own):
      raise errors.UserError(
        'Pre-training must have at least one query. Found no span to mask in '
        f'the input ({dropped}). Check --input, or use '
        '--tagger=rules+terms.'
      )
    hashes = np.where(own == null_block.ID, 0, table.hashes[np.maximum(own, 0)])
    np.save(os.path.join(staging, 'own_blocks.npy'), own)
    np.save(os.path.join(staging, 'own_hashes.npy'), hashes.astype(np.uint64))
    manifest.update(
      schema_version=query_table.SCHEMA_VERSION,
      num_queries=len(own),
      num_dropped=dropped,
      vocabulary_sha256=table.manifest['vocabulary_sha256'],
      masking=masking,
      corpus_fingerprint=table.manifest['corpus_fingerprint'],
      source=source,
    )
  return manifest


def _with_short_spans(
  queries: Iterable[query_table.Query],
  needs_span: bool,
  dropped: dict[str, int],
) -> Iterator[query_table.Query]:
  """Yields the kept queries without long spans; counts the dropped."""
  for query in queries:
    fits = query.spans[:, 1] - query.spans[:, 0] <= _MAX_SPAN
    dropped['spans_too_long'] += int(np.sum(~fits))
    if fits.any() or not needs_span:
      yield query._replace(spans=query.spans[fits])
    else:
      dropped['queries_without_span'] += 1


def _write_columns(
  queries: Iterator[query_table.Query], staging: str
) -> np.ndarray:
  """Writes the queries and returns their own blocks, int64 [N]."""
  writers = {
    name: columns.ColumnWriter(staging, name, dtype)
    for name, dtype in query_table.COLUMNS.items()
  }
  own_blocks = [np.zeros(0, np.int64)]
  while batch := list(itertools.islice(queries, _BATCH_QUERIES)):
    encoded = query_table.encode(batch)
    own_blocks.append(encoded.own_blocks)
    for name, writer in writers.items():
      writer.extend(getattr(encoded, name))
  for writer in writers.values():
    writer.close()
  return np.concatenate(own_blocks)
