"""blocks.tfr or block_records.npy of a release -> blocks, in their order.

A block's id is its row in block_emb: no block is cut, joined or left out.

A .npy file of Python objects is a pickle: a program that may call any function.
The reader here only takes the texts out of the program, and runs nothing. An
array with other objects, or with one object twice, has fewer texts than its
shape says, and is refused.
"""

from collections.abc import Iterator
import itertools
import os
import pickletools
from typing import BinaryIO, cast

import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf.corpus import sources

_TITLES = 'titles.tfr'
_TEXTS = ('SHORT_BINBYTES', 'BINBYTES', 'BINBYTES8')


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
  texts = read_array(path) if path.endswith('.npy') else _records(path)
  pairs: Iterator[tuple[bytes | None, bytes | None]]
  pairs = ((text, b'') for text in texts)
  if tf.io.gfile.exists(titles_file):
    pairs = itertools.zip_longest(texts, _records(titles_file))
  article_id, last = '', None
  for number, (text, title) in enumerate(pairs):
    if text is None or title is None:
      raise errors.UserError(
        f'{titles_file} must have one title for each block. Found '
        f'{"more than" if text is None else "only"} {number}. Copy it again, '
        'or move it away.'
      )
    if not title or title != last:
      article_id, last = str(number), title
    yield sources.Article(
      title.decode('utf-8', 'replace'),
      text.decode('utf-8', 'replace'),
      article_id,
    )


def _records(path: str) -> Iterator[bytes]:
  try:
    yield from tf.data.TFRecordDataset(path).as_numpy_iterator()
  except tf.errors.OpError as error:
    raise errors.UserError(
      f'{path} must be a whole TFRecord file of texts. Found: {error.message}. '
      'Copy it again.'
    ) from error


def read_array(path: str) -> Iterator[bytes]:
  """Yields the items of a .npy file of bytes objects.

  For other content, UserError is raised, which may come after some texts.
  """
  input_files.check(path)
  size = tf.io.gfile.stat(path).length
  count = 0
  with tf.io.gfile.GFile(path, 'rb') as file:
    try:
      np.lib.format.read_magic(file)
      shape, _, dtype = np.lib.format.read_array_header_1_0(file)
      if dtype.kind != 'O' or len(shape) != 1 or 2 * shape[0] > size:
        raise ValueError(f'shape {shape} and type {dtype.str} in {size} bytes')
      for text in _items(file):
        count += 1
        yield text
      if count != shape[0]:
        raise ValueError(f'{count} texts and shape {shape}')
    except Exception as error:  # The parsers raise many kinds of errors.
      raise errors.UserError(
        f'{path} must be an array of texts, written by NumPy. Found: {error}. '
        'The file is a pickle, which is read but never run. Give the '
        "release's blocks.tfr as --blocks instead."
      ) from error


def _items(file: BinaryIO) -> Iterator[bytes]:
  """Yields the texts of the list."""
  is_inside = False
  for opcode, argument, _ in pickletools.genops(file):
    if opcode.name == 'EMPTY_LIST':
      is_inside = True
    elif is_inside and opcode.name in _TEXTS:
      yield cast(bytes, argument)
