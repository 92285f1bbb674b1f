r"""Predicts what many blocks need: hours, bytes, machines, staleness, cost.

  python -m benchmarks.scale                     # The tables of docs/scale.md.
  python -m benchmarks.scale --check=1e5,1e6     # Predicted beside measured.
  python -m benchmarks.scale --fit --corpus_dir=CORPUS   # The constants anew.

The first takes no time: the constants below were measured by --fit. The others
measure for minutes. Prices and shares of a peak are assumptions; see
docs/scale.md.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from absl import app
from absl import flags

from benchmarks import scale_model
from benchmarks.scale_model import Effort
from benchmarks.scale_model import Search

_BLOCKS = flags.DEFINE_list('blocks', ['1e8', '1e9', '1e10'], "Tables' rows.")
_CHECK = flags.DEFINE_list('check', [], 'Vectors to build indexes of.')
_CHECK_EMBED = flags.DEFINE_integer('check_embed', 100_000, 'Blocks.')
_FIT = flags.DEFINE_bool('fit', False, 'Measures the constants.')
_CORPUS_DIR = flags.DEFINE_string('corpus_dir', None, 'Corpus of --fit.')

# By --fit on 2026-11-23, alone; a Xeon with AMX.
CONSTANTS = scale_model.Constants(
  embed=692e-6,
  code=41.3e-6,
  train=0.128e-6,
  assign=0.00893e-6,
  tune=8.82e-6,
  search=Search(1.43e-6, 9.94e-6, 7.3e-9, 0.3e-6, 2.82e-9, 1.85e-9, 70.5e-9),
  block_bytes=648,
  leaf_bytes=1044,
  corpus_bytes=9.4,
  build_bytes=561e6,
  serve_bytes=422e6,
)

# By --check=13353718, on the same day and machine.
_PAPER = 13_353_718
_PAPER_EFFORT = Effort(97, 480)
_PAPER_MEASURED = {
  'build_secs': 1158,
  'index_bytes': 8.657e9,
  'build_peak': 21.2e9,
  'serve_peak': 17.5e9,
  'single': 3160e-6,
  'batch': 1460e-6,
}

# docs/tpu.md: a block by BERT-base, a trainer's step, and the trainer's chips.
_LAYERS, _WIDTH, _TOKENS, _MEAN_TOKENS = 12, 768, 288, 260
_STEP_FLOPS, _TRAINER_CHIPS = 1376e12, 64
_SHARES = (0.3, 0.4, 0.5)  # Of the peak that embedding and steps reach.
_INT32_BLOCKS = 2**31
# A machine that searches: assumed.
_MACHINE_BYTES, _MACHINE_CORES, _MACHINE_DOLLARS = 0.8 * 128e9, 16, 1.0
_CODES_BYTES = 40.4  # A block's in memory, faiss, `index.vectors=disk`.
_LEAF_SHARES = (0.002, 0.03)  # Searched of all partitions.
_RESCORED, _BATCH = 480, 512


_UNITS = {
  'embed_secs': ('core seconds to embed, 2x128', 1),
  'build_secs': ('core seconds to build and tune', 1),
  'index_bytes': ('index, GB', 1e-9),
  'build_peak': ('memory while building, GB', 1e-9),
  'serve_peak': ('memory with two indexes, GB', 1e-9),
  'single': ('core us a query, one at a time', 1e6),
  'batch': ('core us a query, 512 at a time', 1e6),
}


class Chip(NamedTuple):
  """An accelerator: dense bfloat16 FLOP a second, and dollars an hour."""

  name: str
  flops: float
  dollars: float


_CHIPS = (Chip('TPU v5e', 197e12, 1.2), Chip('H100', 989e12, 3.0))


def predict(blocks: float, effort: Effort) -> dict[str, float]:
  """Returns what an index of so many vectors costs, by name."""
  return {
    'build_secs': scale_model.build_secs(CONSTANTS, blocks),
    'index_bytes': scale_model.index_bytes(CONSTANTS, blocks),
    'build_peak': scale_model.build_peak(CONSTANTS, blocks),
    'serve_peak': scale_model.serve_peak(CONSTANTS, blocks),
    'single': scale_model.search_secs(CONSTANTS, blocks, effort, 1),
    'batch': scale_model.search_secs(CONSTANTS, blocks, effort, _BATCH),
  }


def _compared(
  blocks: int, effort: Effort, measured: Mapping[str, float]
) -> Iterator[list[Any]]:
  predicted = predict(blocks, effort)
  for name, value in measured.items():
    yield _row(blocks, name, predicted[name], value)


def _row(blocks, name, predicted, measured):
  label, scale = _UNITS[name]
  values = float(predicted * scale), float(measured * scale)
  return [f'{blocks:,}', label, *values, predicted / measured]


def _check() -> Iterator[list[Any]]:
  from benchmarks import scale_probes

  number = _CHECK_EMBED.value
  secs = number * scale_probes.embed_secs(number)
  yield _row(number, 'embed_secs', number * CONSTANTS.embed, secs)
  for blocks in map(int, map(float, _CHECK.value)):
    measured, effort = scale_probes.measure_index(blocks)
    print(blocks, effort, flush=True)
    yield from _compared(blocks, effort, measured)


def _block_flops() -> float:
  return scale_model.embed_flops(_LAYERS, _WIDTH, _TOKENS)


def _embed_hours(blocks: float, chip: Chip, share: float = _SHARES[1]) -> float:
  """Returns chip hours."""
  return blocks * _block_flops() / (chip.flops * share) / 3600


def _machines(blocks: float) -> tuple[int, int]:
  """Returns machines that hold two ScaNN indexes, and the same as codes."""
  sizes = scale_model.index_bytes(CONSTANTS, blocks), _CODES_BYTES * blocks
  ints = -(-blocks // _INT32_BLOCKS)
  by_scann, by_codes = (-(-2 * size // _MACHINE_BYTES) for size in sizes)
  return int(max(by_scann, ints)), int(max(by_codes, ints))


def _bytes_rows(blocks: float) -> Iterator[list[Any]]:
  sizes = (
    scale_model.VECTOR_BYTES * blocks,
    scale_model.VECTOR_BYTES / 2 * blocks,
    _CODES_BYTES * blocks,
    scale_model.index_bytes(CONSTANTS, blocks),
    CONSTANTS.corpus_bytes * _MEAN_TOKENS * blocks,
  )
  corpora = int(-(-blocks // _INT32_BLOCKS))
  yield [_power(blocks), *(size / 1e9 for size in sizes), corpora]


def _embed_rows(blocks: float) -> Iterator[list[Any]]:
  hours = [_embed_hours(blocks, chip, x) for chip in _CHIPS for x in _SHARES]
  yield [_power(blocks), *hours]


def _search_rows(blocks: float) -> Iterator[list[Any]]:
  scann, codes = _machines(blocks)
  shard = blocks / scann
  leaves = scale_model.num_leaves(shard)
  build = scale_model.build_secs(CONSTANTS, shard) / 3600
  secs = [
    scann
    * scale_model.search_secs(
      *(CONSTANTS, shard), *(Effort(round(share * leaves), _RESCORED), _BATCH)
    )
    for share in _LEAF_SHARES
  ]
  rates = [scann * _MACHINE_CORES / each for each in secs]
  yield [
    *(_power(blocks), scann, codes, build),
    *(1e3 * each for each in secs),
    f'{_short(rates[1])} to {_short(rates[0])}',
  ]


def _stale_rows(blocks: float) -> Iterator[list[Any]]:
  # At an equal share of the peak, whatever the chips are.
  steps = blocks * _block_flops() / _STEP_FLOPS * _TRAINER_CHIPS
  yield [_power(blocks), *(steps / n for n in (16, 64, 256, 1024)), steps / 500]


def _cost_rows(blocks: float) -> Iterator[list[Any]]:
  once = [_embed_hours(blocks, chip) * chip.dollars for chip in _CHIPS]
  machines = [24 * n * _MACHINE_DOLLARS for n in _machines(blocks)]
  yield [_power(blocks), *once, *(400 * each for each in once), *machines]


_TABLES = {
  'Bytes': (
    _bytes_rows,
    'blocks; vectors, GB; bfloat16; codes; ScaNN index; corpus; corpora',
  ),
  'Embedding once, chip hours': (
    _embed_rows,
    'blocks; TPU v5e at 30 %; 40 %; 50 %; H100 at 30 %; 40 %; 50 %',
  ),
  'Search': (
    _search_rows,
    'blocks; machines, ScaNN; codes; core hours to build a shard; core ms a'
    ' query, 0.2 % of leaves; 3 %; queries a second, all machines',
  ),
  'Staleness, steps': (
    _stale_rows,
    'blocks; a refresh by 16 chips; 64; 256; 1,024; chips for 500 steps',
  ),
  'Cost, dollars': (
    _cost_rows,
    'blocks; a refresh, v5e; H100; 400, v5e; H100; search a day, ScaNN; codes',
  ),
}


def _power(blocks: float) -> str:
  factor, exponent = f'{blocks:.2e}'.split('e')
  power = f'10^{int(exponent)}'
  return power if float(factor) == 1 else f'{float(factor):g}*{power}'


def _short(value: Any) -> str:
  """Returns a number with three digits, or the text."""
  if not isinstance(value, float):
    return str(value)
  if value >= 100:
    return f'{float(f"{value:.3g}"):,.0f}'
  return f'{value:.3g}'


def _print(header: str, rows: Iterable[list[Any]]) -> None:
  cells = header.split('; ')
  print(f'| {" | ".join(cells)} |\n|{"---|" * len(cells)}')
  for row in rows:
    print(f'| {" | ".join(map(_short, row))} |', flush=True)


def main(_):
  header = 'vectors; what; predicted; measured; predicted / measured'
  if _FIT.value:
    from benchmarks import scale_probes

    print(scale_probes.fit(_CORPUS_DIR.value))
  elif _CHECK.value:
    _print(header, _check())
  else:
    _print(header, _compared(_PAPER, _PAPER_EFFORT, _PAPER_MEASURED))
    for title, (rows, header) in _TABLES.items():
      print(f'\n## {title}\n')
      numbers = map(float, _BLOCKS.value)
      _print(header, (row for blocks in numbers for row in rows(blocks)))


if __name__ == '__main__':
  app.run(main)
