"""Files that carry blocks and queries from Beam's workers to the writer.

encoded_blocks.EncodedBlocks, query_table.Query <-> one .npz of plain arrays,
never pickled
"""

from collections.abc import Iterable, Iterator
import io
import itertools
import uuid

import numpy as np
import tensorflow as tf

from realm_tf.records import encoded_blocks
from realm_tf.records import query_table

_ROWS = ('texts', 'body_ids', 'sentence_ends')


def write(batch: encoded_blocks.EncodedBlocks, path: str) -> None:
  """Writes a batch, replacing the file; `path` may be remote."""
  article_ids, titles, title_ids = (
    zip(*batch.articles, strict=True) if batch.articles else ((), (), ())
  )
  rows = {name: getattr(batch, name) for name in _ROWS}
  rows['records'] = encoded_blocks.byte_rows(batch.records)
  rows['article_ids'] = encoded_blocks.text_rows(article_ids)
  rows['titles'] = encoded_blocks.text_rows(titles)
  rows['title_ids'] = encoded_blocks.int_rows(title_ids)
  arrays = {'hashes': batch.hashes, 'article_rows': batch.article_rows}
  _save(path, rows, arrays)


def read(path: str) -> encoded_blocks.EncodedBlocks:
  """Reads a batch."""
  arrays = _load(path)
  return encoded_blocks.EncodedBlocks(
    [row.tobytes() for row in _split(_rows(arrays, 'records'))],
    arrays['hashes'],
    _rows(arrays, 'texts'),
    _rows(arrays, 'body_ids'),
    _rows(arrays, 'sentence_ends'),
    list(
      zip(
        _texts(arrays, 'article_ids'),
        _texts(arrays, 'titles'),
        _split(_rows(arrays, 'title_ids')),
        strict=True,
      )
    ),
    arrays['article_rows'],
  )


def write_queries(queries: Iterable[query_table.Query], path: str) -> None:
  """Writes queries, replacing the file; `path` may be remote."""
  queries = list(queries)
  rows = {
    'ids': encoded_blocks.int_rows([query.ids for query in queries]),
    'spans': encoded_blocks.int_rows(
      [query.spans.ravel() for query in queries]
    ),
    'texts': encoded_blocks.text_rows([query.text for query in queries]),
  }
  own = np.array([query.own_block for query in queries], np.int64)
  _save(path, rows, {'own_blocks': own})


def read_queries(path: str) -> Iterator[query_table.Query]:
  """Reads queries."""
  arrays = _load(path)
  for ids, spans, text, own_block in zip(
    _split(_rows(arrays, 'ids')),
    _split(_rows(arrays, 'spans')),
    _texts(arrays, 'texts'),
    arrays['own_blocks'].tolist(),
    strict=True,
  ):
    yield query_table.Query(ids, spans.reshape(-1, 2), own_block, text)


def _save(path, rows, arrays) -> None:
  for name, (values, lengths) in rows.items():
    arrays |= {name: values, f'{name}.lengths': lengths}
  buffer = io.BytesIO()
  np.savez(buffer, **arrays)
  # Beam may make a batch twice at the same time.
  part = f'{path}.{uuid.uuid4().hex[:8]}.part'
  with tf.io.gfile.GFile(part, 'wb') as file:
    file.write(buffer.getvalue())
  tf.io.gfile.rename(part, path, overwrite=True)


def _load(path):
  with tf.io.gfile.GFile(path, 'rb') as file:
    return dict(np.load(io.BytesIO(file.read()), allow_pickle=False))


def _rows(arrays, name: str) -> encoded_blocks.Rows:
  return encoded_blocks.Rows(arrays[name], arrays[f'{name}.lengths'])


def _texts(arrays, name: str) -> list[str]:
  rows = _split(_rows(arrays, name))
  return [row.tobytes().decode('utf-8') for row in rows]


def _split(rows: encoded_blocks.Rows) -> list[np.ndarray]:
  ends = itertools.accumulate(rows.lengths.tolist(), initial=0)
  return [rows.values[a:b] for a, b in itertools.pairwise(ends)]
