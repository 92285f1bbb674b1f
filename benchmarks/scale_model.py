"""Costs of N blocks, from constants that were measured at a small size.

  constants + number of blocks -> [this file] -> bytes, core seconds

A core second is a second of one core's processor time: other work on the same
machine hardly changes it, as it does the time of a clock.
"""

import math
from typing import NamedTuple

_DIMENSIONS = 128
VECTOR_BYTES = 4 * _DIMENSIONS
_TRAINING_BLOCKS = 250_000  # Of ScaNN's partitions.
_COPIES = 2  # SOAR: a block's code is in two partitions.


class Effort(NamedTuple):
  """Partitions and blocks of a search."""

  leaves_to_search: int
  num_to_rescore: int


class Search(NamedTuple):
  """Core seconds of a query's parts.

  Attributes:
    call: A query.
    alone: What it costs more if it is asked by itself.
    leaf: A partition's centre, compared.
    visit: A partition, visited.
    read: A block's code, read; once for all queries of a batch in a partition.
    score: A block, scored by its code.
    rescore: A block, scored by its vector.
  """

  call: float
  alone: float
  leaf: float
  visit: float
  read: float
  score: float
  rescore: float


class Constants(NamedTuple):
  """Costs in core seconds and bytes, D = 128.

  Attributes:
    embed: A block of made-up length, at most 288, by a 2x128 encoder.
    code: A block, coded by ScaNN.
    train: A training block, compared with a centre in all of k-means.
    assign: A block, compared with a centre to find its partitions.
    tune: A block, compared with the tuning queries.
    search: Parts of a query.
    block_bytes: A block's part of a ScaNN index.
    leaf_bytes: A partition's part.
    corpus_bytes: A wordpiece's part of a corpus, as it lies on a disk.
    build_bytes: Memory of a process that builds an index of no blocks.
    serve_bytes: Memory of those that search it.
  """

  embed: float
  code: float
  train: float
  assign: float
  tune: float
  search: Search
  block_bytes: float
  leaf_bytes: float
  corpus_bytes: float
  build_bytes: float
  serve_bytes: float


def num_leaves(blocks: float) -> int:
  """Returns the partitions of an index, `index.num_leaves=0`."""
  return max(1, round(math.sqrt(blocks)))


def index_bytes(constants: Constants, blocks: float) -> float:
  """Returns the size of a ScaNN index with its vectors."""
  leaves = num_leaves(blocks)
  return constants.block_bytes * blocks + constants.leaf_bytes * leaves


def build_secs(constants: Constants, blocks: float) -> float:
  """Returns the core seconds to build and tune a ScaNN index."""
  leaves = num_leaves(blocks)
  trained = constants.train * min(blocks, _TRAINING_BLOCKS) * leaves
  each = constants.code + constants.assign * leaves + constants.tune
  return trained + each * blocks


def build_peak(constants: Constants, blocks: float) -> float:
  """Returns the memory while building: the vectors and the index."""
  vectors = VECTOR_BYTES * blocks
  return constants.build_bytes + vectors + index_bytes(constants, blocks)


def serve_peak(constants: Constants, blocks: float) -> float:
  """Returns the memory with two indexes, one in use and one loading."""
  return constants.serve_bytes + 2 * index_bytes(constants, blocks)


def search_work(
  leaves: int, blocks: float, effort: Effort, batch: int
) -> list[float]:
  """Returns how often a query of a batch needs each part of `Search`."""
  visits = effort.leaves_to_search
  codes = _COPIES * blocks * visits / leaves
  readers = max(1, batch * visits / leaves)
  rescored = min(codes, effort.num_to_rescore)
  alone = float(batch == 1)
  return [1, alone, leaves, visits, codes / readers, codes, rescored]


def search_secs(
  constants: Constants, blocks: float, effort: Effort, batch: int
) -> float:
  """Returns the core seconds of a query of a batch."""
  work = search_work(num_leaves(blocks), blocks, effort, batch)
  return sum(a * b for a, b in zip(constants.search, work, strict=True))


def embed_flops(layers: int, width: int, tokens: int) -> float:
  """Returns the FLOP to embed a block, the last layer for [CLS] alone."""
  dense = (12 * (layers - 1) + 2) * width**2 * tokens
  return 2.0 * dense + 4.0 * (layers - 1) * width * tokens**2
