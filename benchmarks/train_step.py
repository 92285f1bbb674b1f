r"""A step of pre-training, compared with transformers' BERT on torch.

  bash benchmarks/peers.sh
  python -m benchmarks.train_step [--dtype=bfloat16] [--sizes=2x128,6x384]
    [--threads=2]

4 queries with 8 candidates, joint sequences of 192, 10 masked wordpieces each,
a vocabulary of 30,522, dropout 0.1. Each program has its own process; steps
alternate after two warm-up steps. The peers run forward and backward over the
joint sequences; 'reader' is the same work of ours, 'step' a whole step with
towers, null block, clipping and AdamW.

`ratio`: the fastest peer's seconds over ours. `of_peak`: our matmuls' FLOP as a
share of the machine's fastest matmul of that dtype.
"""

import os
import sys
import tempfile

from absl import app
from absl import flags
import numpy as np

from benchmarks import own_train_step
from benchmarks import printing
from benchmarks import processes
from benchmarks import sizes

_SIZES = flags.DEFINE_list('sizes', ['2x128', '6x384'], 'Layers x width.')
_DTYPE = flags.DEFINE_enum(
  'dtype', 'float32', ['float32', 'bfloat16'], 'Data type of matmuls.'
)
_THREADS = flags.DEFINE_integer('threads', 2, 'Threads of each process.')

_REPEATS = 7  # Steps of each; the median counts.
_PEERS = {
  'float32': ('legacy', 'bert'),
  'bfloat16': ('bert_autocast', 'bert_bfloat16'),
}
_WHATS = ('reader', 'step')


def _workers(size: str, batch_file: str) -> dict[str, processes.Worker]:
  """Returns name -> worker, ours and the peers'."""
  threads = str(_THREADS.value)
  own = [sys.executable, '-m', 'benchmarks.own_train_step']
  workers = {
    what: processes.Worker([*own, what, size, _DTYPE.value, threads])
    for what in _WHATS
  }
  python = processes.peer_python()
  for peer in _PEERS[_DTYPE.value] if python else ():
    bert = sizes.bert(size)
    shape = (bert.hidden_size, bert.num_layers, bert.num_heads)
    script = [python, 'benchmarks/peer_train_step.py']
    workers[peer] = processes.Worker(
      [*script, peer, batch_file, threads, *map(str, shape)]
    )
  return workers


def _take_turns(workers) -> dict[str, dict[str, float]]:
  """Returns each worker's median seconds and peak memory."""
  answers = {name: [] for name in workers}
  for _ in range(2 + _REPEATS):
    for name, worker in workers.items():
      answers[name].append(worker.ask('step'))
  return {
    name: {
      'secs': float(np.median([answer['secs'] for answer in each[2:]])),
      'peak_mb': round(each[-1]['peak_mb']),
    }
    for name, each in answers.items()
  }


def _rows(size: str):
  with tempfile.TemporaryDirectory() as directory:
    batch_file = os.path.join(directory, 'batch.npz')
    np.savez(batch_file, **own_train_step.peers_batch())
    workers = _workers(size, batch_file)
    measured = _take_turns(workers)
    peers = {name: measured[name] for name in workers if name not in _WHATS}
    best = min(
      peers.values(),
      key=lambda peer: peer['secs'],
      default={'secs': None, 'peak_mb': None},
    )
    for what in _WHATS:
      ours, extra = measured[what], workers[what].ask('peak')
      row = printing.row(
        f'{size}, {_DTYPE.value}, {what}', ours['secs'], best['secs']
      )
      yield {
        **row,
        **{name: peer['secs'] for name, peer in peers.items()},
        'ratio': row['ratio'] and 1 / row['ratio'],  # Seconds: less is better.
        'peak_mb': ours['peak_mb'],
        'peer_peak_mb': best['peak_mb'],
        'of_peak': extra.pop('flops') / ours['secs'] / extra['peak_flops'],
        **extra,
      }
    for worker in workers.values():
      worker.close()


def main(_):
  if not processes.peer_python():
    print('Runs without peers: benchmarks/peers.sh was not run.')
  rows = (row for size in _SIZES.value for row in _rows(size))
  printing.print_rows('train_step', 'seconds', rows)


if __name__ == '__main__':
  app.run(main)
