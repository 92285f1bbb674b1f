r"""The server under load: queries per second, p50, p99, memory.

  python -m benchmarks.serve --model_dir=runs/qa --corpus_dir=runs/corpus \
      --questions=runs/world/test_questions.jsonl

1, 8 and 32 clients in another process ask over loopback without a pause, one
question per request, with and without batching. The peer is a bare call of the
Answerer with a batch of the number of clients. Memory is the server's after
10,000 more requests.
"""

from collections.abc import Iterator, Sequence
import json
import subprocess
import sys
import time

from absl import app
from absl import flags

from benchmarks import printing
from benchmarks import running_server
from benchmarks import serve_clients

_MODEL_DIR = flags.DEFINE_string('model_dir', None, 'Fine-tuned model.')
_CORPUS_DIR = flags.DEFINE_string('corpus_dir', None, 'Its corpus.')
_QUESTIONS = flags.DEFINE_string('questions', None, 'JSONL, "question".')
_REQUESTS = flags.DEFINE_integer('requests', 2000, 'Requests per case.')
_MEMORY_REQUESTS = 10_000  # Between two measurements of memory.
_CLIENTS = (1, 8, 32)


def _load(url: str, questions_file: str, clients: int, requests: int):
  """Returns `serve_clients`' figures."""
  done = subprocess.run(
    [
      *(sys.executable, '-m', 'benchmarks.serve_clients', url),
      *(questions_file, str(clients), str(requests)),
    ],
    stdout=subprocess.PIPE,
    text=True,
    check=True,
  )
  return json.loads(done.stdout)


def _bare(
  model_dir: str, corpus_dir: str, questions: Sequence[str], requests: int
) -> dict[int, float]:
  """Returns number of clients -> the Answerer's queries per second."""
  from realm_tf.serving import served_model

  answerer = served_model.load(model_dir, corpus_dir).answerer
  rates = {}
  for clients in _CLIENTS:
    size = min(clients, answerer.finetuning.eval_batch_size)
    batches = [
      [questions[(i + j) % len(questions)] for j in range(size)]
      for i in range(0, requests, size)
    ]
    answerer.answer(batches[0])
    begun = time.perf_counter()
    for batch in batches:
      answerer.answer(batch)
    rates[clients] = size * len(batches) / (time.perf_counter() - begun)
  return rates


def _rows(
  model_dir: str, corpus_dir: str, questions_file: str, requests: int
) -> Iterator[dict]:
  questions = serve_clients.read_questions(questions_file)
  bare = _bare(model_dir, corpus_dir, questions, requests)
  for name, batch_size in (('batching', None), ('one by one', 1)):
    flags_of = [f'--batch_size={batch_size}'] if batch_size else []
    server = running_server.Server(model_dir, corpus_dir, *flags_of)
    # The first requests are slower: threads start, files are read.
    first = min(requests, 4 * len(questions))
    _load(server.url, questions_file, 8, first)
    for clients in _CLIENTS:
      loads = [
        _load(server.url, questions_file, clients, requests) for _ in range(3)
      ]
      yield _row(f'{name}, {clients} clients', loads, bare[clients])
    if batch_size is None:
      yield _memory_row(server, questions_file)
    server.close()


def _row(case: str, loads: Sequence[dict], bare: float) -> dict:
  ours = sorted(loads, key=lambda load: load['rate'])[len(loads) // 2]
  return printing.row(
    f'{case}, queries a second',
    ours['rate'],
    bare,
    rival='the bare call',
    p50_ms=ours['p50_ms'],
    p99_ms=ours['p99_ms'],
    client_cpu_ms=ours['cpu_ms'],
    failed=sum(load['failed'] for load in loads),
  )


def _memory_row(server: running_server.Server, questions_file: str) -> dict:
  before = server.memory_mb()
  _load(server.url, questions_file, 8, _MEMORY_REQUESTS)
  case = f'memory after {_MEMORY_REQUESTS} requests, MB'
  return printing.row(case, server.memory_mb(), before=before)


def main(_):
  given = _MODEL_DIR.value, _CORPUS_DIR.value, _QUESTIONS.value
  rows = _rows(*given, _REQUESTS.value)
  printing.print_rows('serve', 'see case', rows)


if __name__ == '__main__':
  app.run(main)
