r"""From files to cached wordpieces: MB of text per second of CPU, and memory.

  bash benchmarks/peers.sh
  python -m benchmarks.make_blocks --input=FILES --vocab_file=vocab.txt

Ours reads, splits sentences, cuts, encodes and writes; the peer, Hugging Face's
fast tokenizer, only tokenizes. The start's cost, measured with one article, is
subtracted except in 'with start'.
"""

import json
import os
import sys
import tempfile

from absl import app
from absl import flags

from benchmarks import printing
from benchmarks import processes
from realm_tf.corpus import sources

_INPUT = flags.DEFINE_multi_string('input', None, 'Articles.', required=True)
_VOCAB_FILE = flags.DEFINE_string(
  'vocab_file', None, 'vocab.txt', required=True
)
_NUM_WORKERS = flags.DEFINE_list('num_workers', ['1', '2'], 'A row for each.')
_REPEATS = flags.DEFINE_integer('repeats', 3, 'Runs; the median counts.')


def _write_articles(path: str) -> float:
  """Writes plain articles as JSONL; returns their megabytes."""
  num_bytes = 0
  with open(path, 'w') as file:
    for article in sources.read_articles(_INPUT.value):
      line = {'title': article.title, 'text': article.text}
      file.write(json.dumps(line, ensure_ascii=False) + '\n')
      num_bytes += len(article.text.encode('utf-8', 'replace'))
  return num_bytes / 1e6


def _make_blocks(path: str, num_workers: str) -> processes.Cost:
  with tempfile.TemporaryDirectory() as directory:
    return processes.run(
      [
        *(sys.executable, '-m', 'bin.make_blocks', f'--input={path}'),
        f'--vocab_file={_VOCAB_FILE.value}',
        f'--output_dir={directory}/corpus',
        f'--num_workers={num_workers}',
      ]
    )


def _median(costs):
  return sorted(costs, key=lambda cost: cost.cpu_secs)[len(costs) // 2]


def _peer_rate(path: str, megabytes: float):
  python = processes.peer_python()
  if not python:
    print('Runs without the peer: benchmarks/peers.sh was not run.')
    return None
  command = [python, 'benchmarks/peer_tokenizers.py', _VOCAB_FILE.value, path]
  rates = []
  for _ in range(_REPEATS.value):
    cost = processes.run(command, RAYON_NUM_THREADS='1')
    rates.append(megabytes / json.loads(cost.output)['cpu_secs'])
  return sorted(rates)[len(rates) // 2]


def _rows(directory: str):
  path = os.path.join(directory, 'articles.jsonl')
  one = os.path.join(directory, 'one.jsonl')
  megabytes = _write_articles(path)
  with open(one, 'w') as file:
    file.write('{"title": "A", "text": "B."}\n')
  start = _median([_make_blocks(one, '1') for _ in range(_REPEATS.value)])
  peer = _peer_rate(path, megabytes)
  for num_workers in _NUM_WORKERS.value:
    cost = _median(
      [_make_blocks(path, num_workers) for _ in range(_REPEATS.value)]
    )
    details = {
      'megabytes': megabytes,
      'wall_secs': cost.wall_secs,
      'peak_mb': cost.peak_mb,
    }
    working = cost.cpu_secs - start.cpu_secs
    case = f'{num_workers} workers'
    yield printing.row(case, megabytes / working, peer, **details)
    yield printing.row(f'{case}, with start', megabytes / cost.cpu_secs, peer)


def main(_):
  with tempfile.TemporaryDirectory() as directory:
    printing.print_rows(
      'make_blocks', 'MB of text per second of CPU', _rows(directory)
    )


if __name__ == '__main__':
  app.run(main)
