r"""Blocks embedded per second, compared with other libraries.

  bash benchmarks/peers.sh
  python -m benchmarks.embed

Peers: transformers' BertModel on torch and converted to OpenVINO, and its
RealmEmbedder. All have the same random weights, 2 threads and the row's dtype;
each peer uses its fastest batch size. Runs alternate after a warm-up; medians;
`ratio` is to the best peer.

'N padded': every block has N wordpieces, without padding. 'real lengths':
blocks of random lengths; peers sort blocks by length and pad a batch to its
longest. `of_peak`: our FLOP as a share of the machine's best float32 matmul.
`difference`: the largest from RealmEmbedder's embeddings.
"""

from collections.abc import Iterator
import os
import tempfile
import time
from typing import NamedTuple, Optional

from absl import app
from absl import flags
import numpy as np
import tensorflow as tf

from benchmarks import printing
from benchmarks import processes
from benchmarks import sizes
from realm_tf import config as config_lib
from realm_tf.data import joining
from realm_tf.exchange import hugging_face
from realm_tf.index import embedding
from realm_tf.model import precision
from realm_tf.model import realm_model

_SIZES = flags.DEFINE_list(
  'sizes', ['2x128', '6x384', '12x768'], 'Layers x width.'
)
_DTYPES = flags.DEFINE_list(
  'dtypes', None, 'Dtypes of matmuls; by default what hardware multiplies.'
)

_NUM_THREADS, _REPEATS = 2, 5  # The median counts.
_PEER_BATCH_SIZES = 8, 32
_BLOCKS = {128: 2048, 384: 256, 768: 64}  # Per run, by width: seconds each.
_STRONG, _LEGACY = ('bert', 'openvino'), 'realm'
_REAL = 'real lengths'
_TITLE_TOKENS = 4


class _Case(NamedTuple):
  """Blocks to embed; `block_tokens` is the longest length."""

  name: str
  table: '_MadeUpTable'
  block_ids: np.ndarray
  block_tokens: int

  @property
  def lengths(self) -> config_lib.LengthConfig:
    """Lengths for `block_embeddings.embed_blocks`."""
    return config_lib.LengthConfig(block_tokens=self.block_tokens)

  @property
  def totals(self) -> np.ndarray:
    """Wordpieces of each block with specials, int32 [n]."""
    titles, bodies = self.table.lengths(self.block_ids)
    totals = np.minimum(titles, self.lengths.title_tokens) + bodies + 3
    return np.minimum(totals, self.block_tokens)


class _MadeUpTable:
  """A block table of random wordpieces; `totals` are lengths with specials."""

  def __init__(self, totals: np.ndarray):
    self._bodies = np.asarray(totals, np.int32) - _TITLE_TOKENS - 3
    self.num_blocks = len(totals)

  def lengths(self, ids):
    bodies = self._bodies[ids]
    return np.full_like(bodies, _TITLE_TOKENS), bodies

  def gather(self, ids, title_length, body_length):
    return (
      _words(ids, np.full_like(ids, _TITLE_TOKENS), title_length),
      _words(ids, self._bodies[ids], body_length),
    )


def _words(ids, lengths, width):
  """Returns words by block and position, int32 [n, width]; zeros after them."""
  places = np.arange(width)
  words = (np.asarray(ids)[:, None] * 7919 + places * 104_729) % (
    sizes.VOCAB_SIZE - sizes.FIRST_WORD
  )
  inside = (places < lengths[:, None]) & (ids >= 0)[:, None]
  return np.where(inside, words + sizes.FIRST_WORD, 0).astype(np.int32)


def _made_up_lengths(number: int, longest: int) -> np.ndarray:
  """Returns random lengths as in a Wikipedia corpus, int64 [number].

  Seven blocks in eight end within 40 wordpieces of the limit, where a sentence
  ends. One in eight is the rest of an article, of any length.
  """
  rng = np.random.default_rng(0)
  full = longest - rng.integers(0, 41, number)
  rest = rng.integers(2 * _TITLE_TOKENS, longest, number)
  return np.where(rng.random(number) < 1 / 8, rest, full)


def _cases(number: int) -> Iterator[_Case]:
  """Yields cases of `number` blocks."""
  of_lengths = {
    '192 padded': np.full(number, 192),
    '288 padded': np.full(number, 288),
    _REAL: _made_up_lengths(number, 288),
  }
  for name, totals in of_lengths.items():
    longest = 192 if name == '192 padded' else 288
    yield _Case(name, _MadeUpTable(totals), np.arange(number), longest)


class _Peer:
  """The peers' process for one model size.

  Args:
    directory: Folder for the model and exchanged files.
  """

  def __init__(self, directory: str, size: str):
    self._dir, self.model_dir = directory, os.path.join(directory, 'model')
    bert = sizes.bert(size)
    shape = map(str, (bert.hidden_size, bert.num_layers, bert.num_heads))
    script = [processes.peer_python(), 'benchmarks/peer_embed.py']
    self._worker = processes.Worker([*script, self.model_dir, *shape])
    self.close = self._worker.close
    self._worker.ask(None)  # Waits until the model is written.

  def write(self, case: _Case, ids: np.ndarray) -> str:
    """Writes the packed blocks; returns the path."""
    path = os.path.join(self._dir, 'tokens.npz')
    length = case.block_tokens
    titles, bodies = case.table.gather(ids, case.lengths.title_tokens, length)
    tokens = joining.pack(
      tf.constant(titles), tf.constant(bodies), *sizes.SPECIAL_IDS, length
    )
    np.savez(path, **{name: value.numpy() for name, value in tokens.items()})
    return path

  def embed(self, **request) -> tuple[float, np.ndarray]:
    """Returns seconds and embeddings, [n, D]; fields are in peer_embed.py."""
    output = os.path.join(self._dir, 'embeddings.npy')
    answer = self._worker.ask({**request, 'output': output})
    return answer['secs'], np.load(output)


def _load(peer: Optional[_Peer], size: str):
  """Returns our model, with the peer's weights if there is one."""
  # The release's head: the peer has the same.
  head = config_lib.EmbedderConfig(
    head='pooled', shared_towers=True, layer_norm_epsilon=1e-12
  )
  model = realm_model.RealmModel(
    config_lib.ModelConfig(embedder_bert=sizes.bert(size), embedder=head),
    [realm_model.EMBEDDER],
  )
  if peer:
    arrays = hugging_face.read(peer.model_dir).arrays
    realm_model.require_parts(model.load(arrays), peer.model_dir)
  return model


def _embed(embed: embedding.BlockEmbed, case: _Case):
  begun = time.monotonic()
  result = embedding.embed_blocks(
    embed, case.table, case.block_ids, case.lengths
  )
  return time.monotonic() - begun, result


def _fastest_requests(peer: _Peer, case: _Case, dtype: str):
  """Returns name -> request with the fastest batch size, and the order."""
  is_real = case.name == _REAL
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
    choices = [{**named, 'batch_size': size} for size in _PEER_BATCH_SIZES]
    peer.embed(**choices[0])  # Makes the model.
    requests[name] = min(choices, key=lambda choice: peer.embed(**choice)[0])
  return requests, order


def _measure(name: str, embed, peer: Optional[_Peer], case, dtype: str):
  """Runs ours and the peers alternately; returns the row."""
  number = len(case.block_ids)
  _embed(embed, case)  # Compiles.
  requests, order = _fastest_requests(peer, case, dtype) if peer else ({}, None)
  secs = {name: [] for name in ('ours', *requests)}
  for _ in range(_REPEATS):
    our_secs, ours = _embed(embed, case)
    secs['ours'].append(our_secs)
    for peer_name, request in requests.items():
      their_secs, theirs = peer.embed(**request)
      secs[peer_name].append(their_secs)
  rates = {each: float(number / np.median(x)) for each, x in secs.items()}
  if not peer:
    return printing.row(name, rates['ours'])
  best = max(_STRONG, key=rates.get)
  return printing.row(
    name,
    rates['ours'],
    rates[best],
    best_peer=best,
    **{each: rates[each] for each in requests},
    # The legacy peer is the last, and the only one with the release's head.
    difference=float(np.abs(ours[order] - theirs).max()),
  )


def _rows(size: str, dtypes: list[str], peak: float):
  bert = sizes.bert(size)
  number = _BLOCKS[bert.hidden_size]
  with tempfile.TemporaryDirectory() as directory:
    peer = _Peer(directory, size) if processes.peer_python() else None
    model = _load(peer, size)
    for dtype in dtypes:
      config = config_lib.IndexConfig(embed_dtype=dtype)
      embed = embedding.opener(model, sizes.SPECIAL_IDS, config)()
      for case in _cases(number):
        name = f'{size}, {case.name}, {dtype}'
        row = _measure(name, embed, peer, case, dtype)
        totals = case.totals.astype(np.float64)
        flops = 2 * float(sizes.products(size, totals).mean())
        yield {
          **row,
          'mean_tokens': float(totals.mean()),
          'of_peak': row['ours'] * flops / peak,
        }
    if peer:
      peer.close()


def main(_):
  tf.config.threading.set_intra_op_parallelism_threads(_NUM_THREADS)
  if not processes.peer_python():
    print('Runs without the peers: benchmarks/peers.sh was not run.')
  peak = sizes.peak_flops('float32')
  print(f'Best float32 matmul: {peak / 1e9:.0f} GFLOPS.', flush=True)
  dtypes = _DTYPES.value or ['float32']
  if not _DTYPES.value and precision.prefers_bfloat16():
    dtypes = ['bfloat16', 'float32']
  rows = (row for size in _SIZES.value for row in _rows(size, dtypes, peak))
  printing.print_rows('embed', 'blocks per second', rows)


if __name__ == '__main__':
  app.run(main)
