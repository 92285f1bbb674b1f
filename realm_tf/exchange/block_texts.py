"""blocks.tfr or block_records.npy of a release -> blocks, in their order.

A block's id is its row in block_emb: no block is cut, joined or left out.
"""

from collections.abc import Iterator
import os
from typing import Optional

import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import sources
from realm_tf.exchange import object_array

_TITLES = 'titles.tfr'


def read(path: str) -> Iterator[sources.Article]:
  """Yields each block as an article.

  The file has UTF-8 strings as TFRecords, or is a .npy file of bytes objects.
  Titles come from titles.tfr in the same directory, if it exists. Neighbouring
  blocks of one title get the same article id.
  """
  if not tf.io.gfile.exists(path):
    raise errors.UserError(
      f'--blocks must name the texts of the blocks. Found no file {path}.'
    )
  titles_file = os.path.join(os.path.dirname(path), _TITLES)
  titles = _records(titles_file) if tf.io.gfile.exists(titles_file) else None
  texts = (
    object_array.read_texts(path) if path.endswith('.npy') else _records(path)
  )
  article_id, last, row = '', None, -1
  for row, text in enumerate(texts):
    title = _title(titles, titles_file, row)
    if not title or title != last:
      article_id, last = str(row), title
    yield sources.Article(title, text.decode('utf-8', 'replace'), article_id)
  if titles is not None and next(titles, None) is not None:
    raise _other_number(titles_file, f'more than {row + 1}')


def _title(titles: Optional[Iterator[bytes]], path: str, row: int) -> str:
  if titles is None:
    return ''
  title = next(titles, None)
  if title is None:
    raise _other_number(path, row)
  return title.decode('utf-8', 'replace')


def _other_number(path: str, count: int | str) -> errors.UserError:
  return errors.UserError(
    f'{path} must have one title for each block. Found {count}. Copy it again, '
    'or move it away.'
  )


def _records(path: str) -> Iterator[bytes]:
  try:
    yield from tf.data.TFRecordDataset(path).as_numpy_iterator()
  except tf.errors.OpError as error:
    raise errors.UserError(
      f'{path} must be a whole TFRecord file of texts. Found: {error.message}. '
      'Copy it again.'
    ) from error
