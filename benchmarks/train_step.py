r"""A step of pre-training, beside transformers' BERT on torch.

  bash benchmarks/peers.sh
  python -m benchmarks.train_step [--dtype=bfloat16] [--sizes=2x128,6x384]
    [--threads=2] [--quick]

4 queries with 8 candidates, joint sequences of 192, 10 masked wordpieces each,
a vocabulary of 30,522, dropout 0.1 (train_step_batch.py). All run in processes
of their own and in turns, one step each, after two that do not count. The peers
are those of the dtype in peer_train_step.py; they have neither towers nor
update: 'reader' is the same work, forward and backward over the same sequences;
in 'reader with null' the first candidate is the null block, which pre-training
always has; 'step' is all of it, with both towers, clipping and AdamW, against
the peers without.

`ratio` is the fastest peer's seconds over ours. Beside medians of seconds a
step: peak resident memory of the process (`peak_mb`), the share of processor
time that is not matmul, what takes it, and the arithmetic of our step's matmuls
as a share of the machine's best matmul of that dtype (`of_peak`).
"""

import json
import os
import subprocess
import sys
import tempfile

from absl import app
from absl import flags
import numpy as np

from benchmarks import printing
from benchmarks import processes
from benchmarks import train_step_batch

_SIZES = flags.DEFINE_list('sizes', ['2x128', '6x384'], 'Layers x width.')
_DTYPE = flags.DEFINE_enum(
  'dtype', 'float32', ['float32', 'bfloat16'], 'Data type of matmuls.'
)
_THREADS = flags.DEFINE_integer('threads', 2, 'Threads of each process.')
_REPEATS = flags.DEFINE_integer('repeats', 7, 'Steps of each; medians count.')
_QUICK = flags.DEFINE_boolean('quick', False, 'Only 2x128, few steps.')

_PEERS = {
  'float32': ('legacy', 'bert'),
  'bfloat16': ('bert_autocast', 'bert_bfloat16'),
}
_WHATS = ('reader', 'reader with null', 'step')
_HEAD_WIDTH = {128: 64, 384: 32}  # As in the released small BERTs.


class _Worker:
  """A process that runs steps when told.

  Args:
    command: Its own.
  """

  def __init__(self, command: list[str]):
    self._process = subprocess.Popen(
      command,
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      stderr=subprocess.DEVNULL,
      text=True,
    )
    self._command = command
    self._answer()

  def ask(self, what: str = 'step') -> dict:
    self._process.stdin.write(what + '\n')
    self._process.stdin.flush()
    return self._answer()

  def close(self):
    self._process.stdin.close()
    self._process.wait()

  def _answer(self):
    line = self._process.stdout.readline()
    if not line:
      raise app.UsageError(f'It must run, but ended: {" ".join(self._command)}')
    return json.loads(line)


def _ours(size: str, what: str) -> _Worker:
  flag_values = {
    'what': what,
    'size': size,
    'dtype': _DTYPE.value,
    'threads': _THREADS.value,
  }
  return _Worker(
    [sys.executable, '-m', 'benchmarks.own_train_step']
    + [f'--{name}={value}' for name, value in flag_values.items()]
  )


def _peers(size: str, directory: str) -> dict[str, _Worker]:
  python = processes.peer_python()
  if not python:
    return {}
  layers, width = map(int, size.split('x'))
  path = os.path.join(directory, 'batch.npz')
  np.savez(path, **train_step_batch.theirs())
  numbers = (_THREADS.value, width, layers, width // _HEAD_WIDTH[width])
  script = [python, 'benchmarks/peer_train_step.py']
  return {
    peer: _Worker([*script, peer, path, *map(str, numbers)])
    for peer in _PEERS[_DTYPE.value]
  }


def _alternate(workers: dict[str, _Worker]) -> dict[str, dict[str, float]]:
  """Returns each one's median seconds and peak memory."""
  runs = {name: [] for name in workers}
  for _ in range(1 + (3 if _QUICK.value else _REPEATS.value)):
    for name, worker in workers.items():
      runs[name].append(worker.ask())
  return {
    name: {
      'secs': float(np.median([answer['secs'] for answer in answers[1:]])),
      'peak_mb': answers[-1]['peak_mb'],
    }
    for name, answers in runs.items()
  }


def _rows(size: str):
  with tempfile.TemporaryDirectory() as directory:
    peers = _peers(size, directory)
    workers = {what: _ours(size, what) for what in _WHATS}
    measured = _alternate({**workers, **peers})
    best = min(peers, key=lambda peer: measured[peer]['secs'], default=None)
    for what, worker in workers.items():
      ours = measured[what]
      extra = worker.ask('profile')
      yield {
        'case': f'{size}, {_DTYPE.value}, {what}',
        'ours': ours['secs'],
        **{peer: measured[peer]['secs'] for peer in peers},
        'ratio': measured[best]['secs'] / ours['secs'] if best else None,
        'peak_mb': round(ours['peak_mb']),
        'peer_peak_mb': best and round(measured[best]['peak_mb']),
        'of_peak': extra.pop('flops') / ours['secs'] / extra['peak_flops'],
        **extra,
      }
    for worker in [*workers.values(), *peers.values()]:
      worker.close()


def main(_):
  if not processes.peer_python():
    print('Runs without peers: benchmarks/peers.sh was not run.')
  sizes = ['2x128'] if _QUICK.value else _SIZES.value
  rows = (row for size in sizes for row in _rows(size))
  printing.print_rows('train_step', 'seconds', rows)


if __name__ == '__main__':
  app.run(main)
