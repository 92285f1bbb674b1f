r"""Blocks embedded a second, beside transformers' RealmEmbedder on torch.

  bash benchmarks/peers.sh
  python -m benchmarks.embed [--corpus_dir=DIR] [--quick]

Both have the peer's random weights, 2 threads and float32 (--dtype changes
ours), and run in turns, each case once before it counts. 'N padded': every
block has N wordpieces, so nobody can leave padding out. 'real lengths': blocks
of --corpus_dir (else of made-up lengths, see embed_cases.py); the peer pads
each to --block_tokens, as its release does, or, in the row 'sorted', takes
blocks in order of length and pads each batch to its longest.

`of_peak` is the share of the machine's best float32 matmul that our arithmetic
comes to; `difference` the largest one between both's embeddings.
"""

import json
import os
import subprocess
import tempfile
import time
from typing import Optional

from absl import app
from absl import flags
import numpy as np
import tensorflow as tf

from benchmarks import embed_cases
from benchmarks import printing
from benchmarks import processes
from realm_tf import config as config_lib
from realm_tf.importing import hugging_face
from realm_tf.index import block_embeddings
from realm_tf.modeling import realm_model
from realm_tf.records import joining

_CORPUS_DIR = flags.DEFINE_string(
  'corpus_dir', None, 'Of bin.make_blocks; None makes lengths up.'
)
_SIZES = flags.DEFINE_list(
  'sizes', ['2x128', '6x384', '12x768'], 'Layers x width.'
)
_BLOCK_TOKENS = flags.DEFINE_integer('block_tokens', 288, 'At most.')
_BATCH_SIZE = flags.DEFINE_integer(
  'batch_size', config_lib.IndexConfig().embed_batch_size, 'Ours.'
)
_PEER_BATCH_SIZE = flags.DEFINE_integer('peer_batch_size', 8, 'Its own.')
_DTYPE = flags.DEFINE_enum(
  'dtype', 'float32', ['float32', 'bfloat16'], 'Of our matmuls.'
)
_REPEATS = flags.DEFINE_integer('repeats', 3, 'Runs; the median counts.')
_QUICK = flags.DEFINE_boolean('quick', False, 'Only 2x128, few blocks.')

_NUM_THREADS = 2
_VOCAB_SIZE = 30522
_SPECIAL_IDS = (101, 102)  # [CLS] and [SEP] of BERT's vocabularies.
_HEAD_WIDTH = {128: 64, 384: 32, 768: 64}  # As in the released small BERTs.
_BLOCKS = {128: 1024, 384: 96, 768: 32}  # Of a run, by width: seconds each.


class _Peer:
  """The other process; made anew for each size.

  Args:
    directory: Where the model and both's files go.
    width: Of the model.
    layers: Of the model.
  """

  def __init__(self, directory: str, width: int, layers: int):
    heads = width // _HEAD_WIDTH[width]
    self._dir, self.model_dir = directory, os.path.join(directory, 'model')
    self._process = subprocess.Popen(
      [
        *(processes.peer_python(), 'benchmarks/peer_embed.py', self.model_dir),
        *map(str, (width, layers, heads)),
      ],
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      stderr=subprocess.DEVNULL,
      text=True,
    )
    self._answer()

  def write(self, case: embed_cases.Case, ids: np.ndarray) -> str:
    """Writes the packed blocks; returns the file."""
    path = os.path.join(self._dir, 'tokens.npz')
    titles, bodies = case.table.gather(
      ids, case.lengths.title_tokens, case.block_tokens
    )
    tokens = joining.pack(
      tf.constant(titles), tf.constant(bodies), *_SPECIAL_IDS, case.block_tokens
    )
    np.savez(path, **{name: value.numpy() for name, value in tokens.items()})
    return path

  def embed(self, tokens: str, pad_to: int) -> tuple[float, np.ndarray]:
    """Returns seconds, and embeddings [n, D]."""
    output = os.path.join(self._dir, 'embeddings.npy')
    request = {
      'tokens': tokens,
      'batch_size': _PEER_BATCH_SIZE.value,
      'pad_to': pad_to,
      'output': output,
    }
    self._process.stdin.write(json.dumps(request) + '\n')
    self._process.stdin.flush()
    return self._answer()['secs'], np.load(output)

  def close(self):
    self._process.stdin.close()
    self._process.wait()

  def _answer(self):
    line = self._process.stdout.readline()
    if not line:
      raise app.UsageError('The peer must run. It ended: see peer_embed.py.')
    return json.loads(line)


def _load(peer: Optional[_Peer], width: int, layers: int):
  """Returns our embedder, with the peer's weights if there is one."""
  bert = config_lib.BertConfig(
    vocab_size=_VOCAB_SIZE,
    hidden_size=width,
    num_layers=layers,
    num_heads=width // _HEAD_WIDTH[width],
    intermediate_size=4 * width,
  )
  # The release's head, which the peer has too.
  head = config_lib.EmbedderConfig(
    head='pooled', shared_towers=True, layer_norm_epsilon=1e-12
  )
  model = realm_model.RealmModel(
    config_lib.ModelConfig(embedder_bert=bert, embedder=head),
    [realm_model.EMBEDDER],
  )
  if peer:
    arrays, _ = hugging_face.load_bert(peer.model_dir)
    realm_model.require_parts(model.load(arrays), peer.model_dir)
  return block_embeddings.compile_embedding(model, _SPECIAL_IDS, _DTYPE.value)


def _embed(embed: block_embeddings.Embed, case: embed_cases.Case):
  begun = time.monotonic()
  result = block_embeddings.embed_blocks(
    embed, case.table, case.block_ids, case.lengths, _BATCH_SIZE.value
  )
  return time.monotonic() - begun, result


def _median(values) -> float:
  ranked = sorted(values)
  return ranked[len(ranked) // 2]


def _measure(
  embed,
  peer: Optional[_Peer],
  case: embed_cases.Case,
  order: Optional[np.ndarray],
):
  """Runs both in turns; returns a part of the row.

  Args:
    embed: Ours.
    peer: The other.
    case: What both embed.
    order: In which the peer gets the blocks, padded to the longest of each
      batch; None is as they come, padded to the longest allowed.
  """
  number = len(case.block_ids)
  _embed(embed, case)  # Compiles.
  if not peer:
    secs = _median(_embed(embed, case)[0] for _ in range(_REPEATS.value))
    return {'ours': number / secs, 'peer': None, 'ratio': None}
  tokens = peer.write(
    case, case.block_ids if order is None else case.block_ids[order]
  )
  pad_to = case.block_tokens if order is None else 0
  peer.embed(tokens, pad_to)
  runs = [
    (_embed(embed, case), peer.embed(tokens, pad_to))
    for _ in range(_REPEATS.value)
  ]
  (_, ours), (_, theirs) = runs[-1]
  difference = (ours if order is None else ours[order]) - theirs
  our_secs, their_secs = (
    _median(run[side][0] for run in runs) for side in (0, 1)
  )
  return {
    'ours': number / our_secs,
    'peer': number / their_secs,
    'ratio': their_secs / our_secs,
    'difference': float(np.abs(difference).max()),
  }


def _peak_flops() -> float:
  """Returns what float32 matmul reaches here at best, a second."""
  matrix = tf.random.normal([2048, 2048])
  best = np.inf
  for _ in range(5):
    begun = time.monotonic()
    tf.linalg.matmul(matrix, matrix)[0, 0].numpy()
    best = min(best, time.monotonic() - begun)
  return 2 * 2048**3 / best


def _needed_flops(case: embed_cases.Case, layers: int, width: int) -> float:
  """Returns the matmuls' arithmetic of a block for [CLS], without padding."""
  totals = case.totals.astype(np.float64)
  # Query, key, value, output, and 8 widths of feed-forward; of the last layer
  # only key and value for all positions.
  dense = (12 * (layers - 1) + 2) * width**2 * totals
  return float(np.mean(2 * dense + 4 * (layers - 1) * width * totals**2))


def _rows(size: str, peak: float):
  layers, width = map(int, size.split('x'))
  number = _BLOCKS[width] // (8 if _QUICK.value else 1)
  with tempfile.TemporaryDirectory() as directory:
    peer = _Peer(directory, width, layers) if processes.peer_python() else None
    embed = _load(peer, width, layers)
    for case in embed_cases.cases(
      number, _CORPUS_DIR.value, _BLOCK_TOKENS.value
    ):
      orders = {case.name: None}
      if case.name == embed_cases.REAL and peer:
        by_length = np.argsort(-case.totals, kind='stable')
        orders[f'{case.name}, peer sorted'] = by_length
      for name, order in orders.items():
        row = _measure(embed, peer, case, order)
        flops = row['ours'] * _needed_flops(case, layers, width)
        yield {
          'case': f'{size}, {name}',
          **row,
          'mean_tokens': float(case.totals.mean()),
          'of_peak': flops / peak,
        }
    if peer:
      peer.close()


def main(_):
  tf.config.threading.set_intra_op_parallelism_threads(_NUM_THREADS)
  if not processes.peer_python():
    print('Runs without the peer: benchmarks/peers.sh was not run.')
  peak = _peak_flops()
  print(f'Best float32 matmul: {peak / 1e9:.0f} GFLOPS.', flush=True)
  sizes = ['2x128'] if _QUICK.value else _SIZES.value
  rows = (row for size in sizes for row in _rows(size, peak))
  printing.print_rows('embed', 'blocks per second', rows)


if __name__ == '__main__':
  app.run(main)
