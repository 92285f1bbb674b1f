"""Files that carry batches of encoded blocks from Beam's workers to the writer.

encoded_blocks.EncodedBlocks <-> one .npz of plain arrays, never pickled
"""

import io
import itertools
import uuid

import numpy as np
import tensorflow as tf

from realm_tf.records import encoded_blocks

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
  for name, (values, lengths) in rows.items():
    arrays[name] = values
    arrays[f'{name}.lengths'] = lengths
  buffer = io.BytesIO()
  np.savez(buffer, **arrays)
  # Beam may cut a batch twice at the same time.
  part = f'{path}.{uuid.uuid4().hex[:8]}.part'
  with tf.io.gfile.GFile(part, 'wb') as file:
    file.write(buffer.getvalue())
  tf.io.gfile.rename(part, path, overwrite=True)


def read(path: str) -> encoded_blocks.EncodedBlocks:
  """Reads a batch."""
  with tf.io.gfile.GFile(path, 'rb') as file:
    arrays = np.load(io.BytesIO(file.read()), allow_pickle=False)

  def rows(name):
    return encoded_blocks.Rows(arrays[name], arrays[f'{name}.lengths'])

  def texts(name):
    return [row.tobytes().decode('utf-8') for row in _split(rows(name))]

  return encoded_blocks.EncodedBlocks(
    [row.tobytes() for row in _split(rows('records'))],
    arrays['hashes'],
    rows('texts'),
    rows('body_ids'),
    rows('sentence_ends'),
    list(
      zip(
        texts('article_ids'),
        texts('titles'),
        _split(rows('title_ids')),
        strict=True,
      )
    ),
    arrays['article_rows'],
  )


def _split(rows: encoded_blocks.Rows) -> list[np.ndarray]:
  ends = itertools.accumulate(rows.lengths.tolist(), initial=0)
  return [rows.values[a:b] for a, b in itertools.pairwise(ends)]
