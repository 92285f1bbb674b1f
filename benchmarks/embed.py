r"""Blocks embedded a second, beside the fastest that a user could install.

  bash benchmarks/peers.sh
  python -m benchmarks.embed [--corpus_dir=DIR] [--quick]

Peers: today's BertModel of transformers on torch, the same converted to
OpenVINO, and, for the record, transformers' own RealmEmbedder. All have the
same random weights, 2 threads and the row's dtype; each peer takes the batch
size of --peer_batch_sizes that it is fastest with. All run in turns, each once
before it counts; medians; `ratio` is to the best peer. 'N padded': every block
has N wordpieces, so there is no padding to skip. 'real lengths': blocks of
--corpus_dir (else of made-up lengths, see embed_cases.py), which peers take in
order of length, each batch padded to its longest.

`of_peak` is the share of the machine's best float32 matmul that our arithmetic
comes to; `difference` the largest one between our embeddings and those of
RealmEmbedder in float32.
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
from realm_tf.index import embed_backend
from realm_tf.modeling import precision
from realm_tf.modeling import realm_model
from realm_tf.records import joining

_CORPUS_DIR = flags.DEFINE_string(
  'corpus_dir', None, 'Corpus; None makes lengths up.'
)
_SIZES = flags.DEFINE_list(
  'sizes', ['2x128', '6x384', '12x768'], 'Layers x width.'
)
_BLOCK_TOKENS = flags.DEFINE_integer('block_tokens', 288, 'At most.')
_BATCH_SIZE = flags.DEFINE_integer(
  'batch_size', block_embeddings.BATCH_SIZE, 'Ours.'
)
_PEER_BATCH_SIZES = flags.DEFINE_list(
  'peer_batch_sizes', ['8', '32'], 'Batch sizes that each peer may choose of.'
)
_DTYPES = flags.DEFINE_list(
  'dtypes', None, 'Dtypes of matmuls; by default what this machine multiplies.'
)
_BACKEND = flags.DEFINE_enum(
  'backend', 'auto', ['auto', 'tensorflow', 'openvino'], 'What runs ours.'
)
_REPEATS = flags.DEFINE_integer('repeats', 5, 'Turns; the median counts.')
_QUICK = flags.DEFINE_boolean('quick', False, 'Only 2x128, few blocks.')

_NUM_THREADS = 2
_VOCAB_SIZE = 30522
_SPECIAL_IDS = (101, 102)  # [CLS] and [SEP] of BERT's vocabularies.
_HEAD_WIDTH = {128: 64, 384: 32, 768: 64}  # As in the released small BERTs.
_BLOCKS = {128: 2048, 384: 256, 768: 64}  # Of a run, by width: seconds each.
_STRONG, _LEGACY = ('bert', 'openvino'), 'realm'


class _Peer:
  """The peer's process for one model size.

  Args:
    directory: Folder for the model and exchanged files.
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

  def embed(self, **request) -> tuple[float, np.ndarray]:
    """Returns seconds and embeddings, [n, D]; see peer_embed.py."""
    output = os.path.join(self._dir, 'embeddings.npy')
    request['output'] = output
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
  """Returns our model, with the peer's weights if there is one."""
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
  return model


def _embed(embed: block_embeddings.Embed, case: embed_cases.Case):
  begun = time.monotonic()
  result = block_embeddings.embed_blocks(
    embed, case.table, case.block_ids, case.lengths, _BATCH_SIZE.value
  )
  return time.monotonic() - begun, result


def _fastest_requests(peer: _Peer, case: embed_cases.Case, dtype: str):
  """Returns name -> request with the batch size that is fastest, and order."""
  is_real = case.name == embed_cases.REAL
  order = np.argsort(-case.totals if is_real else case.block_ids, kind='stable')
  shared = {
    'tokens': peer.write(case, case.block_ids[order]),
    'pad_to': 0 if is_real else case.block_tokens,
  }
  requests = {}
  for name in (*_STRONG, _LEGACY):
    named = {
      **shared,
      'peer': name,
      'dtype': 'float32' if name == _LEGACY else dtype,
    }
    choices = [
      {**named, 'batch_size': int(size)} for size in _PEER_BATCH_SIZES.value
    ]
    peer.embed(**choices[0])  # Makes it.
    requests[name] = min(choices, key=lambda choice: peer.embed(**choice)[0])
  return requests, order


def _measure(embed, peer: Optional[_Peer], case: embed_cases.Case, dtype: str):
  """Runs ours and the peers in turns; returns a part of the row."""
  number = len(case.block_ids)
  _embed(embed, case)  # Compiles.
  if not peer:
    secs = [_embed(embed, case)[0] for _ in range(_REPEATS.value)]
    return {'ours': number / np.median(secs), 'peer': None, 'ratio': None}
  requests, order = _fastest_requests(peer, case, dtype)
  secs = {name: [] for name in ('ours', *requests)}
  for _ in range(_REPEATS.value):
    our_secs, ours = _embed(embed, case)
    secs['ours'].append(our_secs)
    for name, request in requests.items():
      their_secs, theirs = peer.embed(**request)
      secs[name].append(their_secs)
  rates = {name: number / np.median(values) for name, values in secs.items()}
  best = max(_STRONG, key=rates.get)
  return {
    'ours': rates['ours'],
    'peer': rates[best],
    'ratio': rates['ours'] / rates[best],
    'best_peer': best,
    **{name: rates[name] for name in requests},
    # The legacy peer is the last, and the only one with the release's head.
    'difference': float(np.abs(ours[order] - theirs).max()),
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


def _rows(size: str, dtypes: list[str], peak: float):
  layers, width = map(int, size.split('x'))
  number = _BLOCKS[width] // (8 if _QUICK.value else 1)
  with tempfile.TemporaryDirectory() as directory:
    peer = _Peer(directory, width, layers) if processes.peer_python() else None
    model = _load(peer, width, layers)
    for dtype in dtypes:
      config = config_lib.IndexConfig(
        embed_backend=_BACKEND.value, embed_dtype=dtype
      )
      embed = embed_backend.opener(model, _SPECIAL_IDS, config)()
      for case in embed_cases.cases(
        number, _CORPUS_DIR.value, _BLOCK_TOKENS.value
      ):
        row = _measure(embed, peer, case, dtype)
        flops = row['ours'] * _needed_flops(case, layers, width)
        yield {
          'case': f'{size}, {case.name}, {dtype}',
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
  dtypes = _DTYPES.value or ['float32']
  if not _DTYPES.value and precision.multiplies_bfloat16():
    dtypes = ['bfloat16', 'float32']
  rows = (row for size in sizes for row in _rows(size, dtypes, peak))
  printing.print_rows('embed', 'blocks per second', rows)


if __name__ == '__main__':
  app.run(main)
