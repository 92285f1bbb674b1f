"""Predicts the needs of many blocks: hours, bytes, machines, staleness, cost.

  python -m benchmarks.scale                     # The tables of docs/scale.md.

The constants were measured at 200,000 vectors of 128 numbers, in core seconds:
other work on the machine hardly changes them. docs/scale.md has the assumptions
and compares the model with measurements.
"""

import math
from typing import Any

from absl import app
from absl import flags

_BLOCKS = flags.DEFINE_list('blocks', ['1e8', '1e9', '1e10'], 'A row for each.')

# Core seconds to build: to encode a block, to compare a training block with a
# centre in all of k-means, to compare a block with a centre, to tune.
_CODE, _TRAIN, _ASSIGN, _TUNE = 41.3e-6, 0.128e-6, 0.00893e-6, 8.82e-6
_TRAINING_BLOCKS = 250_000
# Core seconds of a query: per call, per centre compared, per partition visited,
# per code read (once for a batch), per code scored, per block rescored.
_CALL, _LEAF, _VISIT, _READ = 1.43e-6, 7.3e-9, 0.3e-6, 2.82e-9
_SCORE, _RESCORE = 1.85e-9, 70.5e-9
_COPIES = 2  # SOAR: a block's code is in two partitions.
# Bytes of a ScaNN index per block and per partition, of a corpus per wordpiece.
_BLOCK_BYTES, _LEAF_BYTES, _CORPUS_BYTES = 648, 1044, 9.4
_VECTOR_BYTES = 4 * 128
_INT32_BLOCKS = 2**31

# docs/tpu.md: BERT-base on a block, a trainer's step, the trainer's chips.
_LAYERS, _WIDTH, _TOKENS, _MEAN_TOKENS = 12, 768, 288, 260
_STEP_FLOPS, _TRAINER_CHIPS = 1376e12, 64
_PEAKS = (197e12, 989e12)  # TPU v5e and H100, dense bfloat16 FLOP per second.
_CHIP_DOLLARS = (1.2, 3.0)  # Per hour.
_SHARES = (0.3, 0.4, 0.5)  # Shares of the peak that embedding and steps reach.
# An assumed machine for search.
_MACHINE_BYTES, _MACHINE_CORES, _MACHINE_DOLLARS = 0.8 * 128e9, 16, 1.0
_LEAF_SHARES = (0.002, 0.03)  # Shares of the partitions that are searched.
_RESCORED, _BATCH = 480, 512


def index_bytes(blocks: float) -> float:
  """Returns the size of a ScaNN index with its vectors."""
  return _BLOCK_BYTES * blocks + _LEAF_BYTES * math.sqrt(blocks)


def build_secs(blocks: float) -> float:
  """Returns the core seconds to build and tune a ScaNN index."""
  leaves = math.sqrt(blocks)
  trained = _TRAIN * min(blocks, _TRAINING_BLOCKS) * leaves
  return trained + (_CODE + _ASSIGN * leaves + _TUNE) * blocks


def search_secs(blocks: float, visits: float) -> float:
  """Returns the core seconds of a query in a batch; `visits` partitions."""
  leaves = math.sqrt(blocks)
  codes = _COPIES * blocks * visits / leaves
  reads = codes / max(1, _BATCH * visits / leaves)
  opened = _CALL + _LEAF * leaves + _VISIT * visits
  return opened + _READ * reads + _SCORE * codes + _RESCORE * _RESCORED


def block_flops() -> float:
  """Returns the FLOP to embed a block, with the last layer only for [CLS]."""
  dense = (12 * (_LAYERS - 1) + 2) * _WIDTH**2 * _TOKENS
  return 2.0 * dense + 4.0 * (_LAYERS - 1) * _WIDTH * _TOKENS**2


def _embed_hours(blocks: float, peak: float, share: float = 0.4) -> float:
  return blocks * block_flops() / (peak * share) / 3600


def _machines(blocks: float) -> int:
  """Returns the machines for two ScaNN indexes."""
  by_memory = math.ceil(2 * index_bytes(blocks) / _MACHINE_BYTES)
  return max(by_memory, math.ceil(blocks / _INT32_BLOCKS))


def _bytes_row(blocks: float) -> list[Any]:
  sizes = (
    _VECTOR_BYTES * blocks,
    _VECTOR_BYTES / 2 * blocks,
    index_bytes(blocks),
    _CORPUS_BYTES * _MEAN_TOKENS * blocks,
  )
  return [*(size / 1e9 for size in sizes), math.ceil(blocks / _INT32_BLOCKS)]


def _embed_row(blocks: float) -> list[Any]:
  return [_embed_hours(blocks, peak, x) for peak in _PEAKS for x in _SHARES]


def _search_row(blocks: float) -> list[Any]:
  machines = _machines(blocks)
  shard = blocks / machines
  leaves = math.sqrt(shard)
  secs = [
    machines * search_secs(shard, share * leaves) for share in _LEAF_SHARES
  ]
  slow, fast = (_short(machines * _MACHINE_CORES / each) for each in secs[::-1])
  build = build_secs(shard) / 3600
  return [machines, build, *(1e3 * x for x in secs), f'{slow} to {fast}']


def _stale_row(blocks: float) -> list[Any]:
  # Assumes that embedding and steps reach equal shares of the peak.
  steps = blocks * block_flops() / _STEP_FLOPS * _TRAINER_CHIPS
  return [*(steps / n for n in (16, 64, 256, 1024)), steps / 500]


def _cost_row(blocks: float) -> list[Any]:
  hours = (_embed_hours(blocks, peak) for peak in _PEAKS)
  once = [x * y for x, y in zip(hours, _CHIP_DOLLARS, strict=True)]
  search = 24 * _machines(blocks) * _MACHINE_DOLLARS
  return [*once, *(400 * each for each in once), search]


_TABLES = {
  'Bytes': (
    _bytes_row,
    'blocks; vectors, GB; bfloat16; ScaNN index; corpus; corpora',
  ),
  'Embedding once, chip hours': (
    _embed_row,
    'blocks; TPU v5e at 30 %; 40 %; 50 %; H100 at 30 %; 40 %; 50 %',
  ),
  'Search': (
    _search_row,
    'blocks; machines; core hours to build a shard; core ms a'
    ' query, 0.2 % of leaves; 3 %; queries a second, all machines',
  ),
  'Staleness, steps': (
    _stale_row,
    'blocks; a refresh by 16 chips; 64; 256; 1,024; chips for 500 steps',
  ),
  'Cost, dollars': (
    _cost_row,
    'blocks; a refresh, v5e; H100; 400, v5e; H100; search a day',
  ),
}


def _short(value: Any) -> str:
  """Returns a number with three digits, or the text."""
  if not isinstance(value, float):
    return str(value)
  if value >= 100:
    return f'{float(f"{value:.3g}"):,.0f}'
  return f'{value:.3g}'


def main(_):
  for title, (row, header) in _TABLES.items():
    cells = header.split('; ')
    print(f'\n## {title}\n\n| {" | ".join(cells)} |\n|{"---|" * len(cells)}')
    for text in _BLOCKS.value:
      values = map(_short, row(float(text)))
      print(f'| {text} | {" | ".join(values)} |')


if __name__ == '__main__':
  app.run(main)
