"""Finds where a tensor lies in the files of a TensorFlow checkpoint.

  PREFIX.index -> [this file] -> file, offset, shape of a tensor

TensorFlow restores a tensor whole or not at all; with its place, rows can be
read one slice at a time. The index is a sorted string table: blocks of
prefix-compressed keys with protobufs as values, and a footer that points to
the block of blocks.
"""

from collections.abc import Iterator
from typing import NamedTuple, Optional

import tensorflow as tf
from tensorflow.core.protobuf import tensor_bundle_pb2

_FOOTER_BYTES = 48
_MAGIC = 0xDB4775248B80FB57
_HEADER_KEY = b''  # Sorts before every name.


class Place(NamedTuple):
  """A tensor in a file, from byte `offset` on."""

  path: str
  offset: int
  shape: tuple[int, ...]


def find(prefix: str, name: str) -> Optional[Place]:
  """Returns the place of variable `name` in the checkpoint `prefix`.

  Returns:
    None if the tensor is not one run of float32, or the index is compressed,
    which TensorFlow has not written since 1.2.
  """
  with tf.io.gfile.GFile(f'{prefix}.index', 'rb') as file:
    data = file.read()
  try:
    table = dict(_entries(data))
    header = tensor_bundle_pb2.BundleHeaderProto.FromString(table[_HEADER_KEY])
    entry = tensor_bundle_pb2.BundleEntryProto.FromString(table[name.encode()])
  except (KeyError, IndexError, ValueError):
    return None
  if header.endianness != header.LITTLE or entry.slices:
    return None
  if entry.dtype != tf.float32.as_datatype_enum:
    return None
  return Place(
    f'{prefix}.data-{entry.shard_id:05d}-of-{header.num_shards:05d}',
    entry.offset,
    tuple(dim.size for dim in entry.shape.dim),
  )


def _entries(data: bytes) -> Iterator[tuple[bytes, bytes]]:
  footer = data[-_FOOTER_BYTES:]
  if int.from_bytes(footer[-8:], 'little') != _MAGIC:
    raise ValueError('This is no sorted string table.')
  position = 0
  for _ in range(2):  # The handle of the meta block comes first.
    offset, position = _varint(footer, position)
    size, position = _varint(footer, position)
  for _, handle in _block(data, offset, size):
    block_offset, position = _varint(handle, 0)
    block_size, _ = _varint(handle, position)
    yield from _block(data, block_offset, block_size)


def _block(data, offset, size) -> Iterator[tuple[bytes, bytes]]:
  """Yields the keys and values of a block."""
  if data[offset + size]:
    raise ValueError('The block is compressed.')
  block = data[offset : offset + size]
  num_restarts = int.from_bytes(block[-4:], 'little')
  end = size - 4 * (num_restarts + 1)
  position, key = 0, b''
  while position < end:
    shared, position = _varint(block, position)
    own, position = _varint(block, position)
    length, position = _varint(block, position)
    key = key[:shared] + block[position : position + own]
    position += own
    yield key, block[position : position + length]
    position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
  """Returns a number, seven bits a byte, and the position behind it."""
  value = shift = 0
  while True:
    byte = data[position]
    position += 1
    value |= (byte & 0x7F) << shift
    if byte < 0x80:
      return value, position
    shift += 7
