r"""A server whose documents change: speed, p99, and when they are found.

  python -m benchmarks.live_documents --model_dir=runs/qa \
      --corpus_dir=runs/corpus --questions=runs/world/test_questions.jsonl

Eight clients ask without a pause. Meanwhile --changes documents are added,
replaced and removed, a third each, one a request, at most --rate a second.
`ours` of the first row is questions a second beside that, `peer` without it.
"""

from collections.abc import Iterator
import concurrent.futures
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any
from urllib import parse

from absl import app
from absl import flags

from benchmarks import printing
from benchmarks import running_server

_MODEL_DIR = flags.DEFINE_string('model_dir', None, 'Served.', required=True)
_CORPUS_DIR = flags.DEFINE_string('corpus_dir', None, 'Its.', required=True)
_QUESTIONS = flags.DEFINE_string(
  'questions', None, 'JSONL, "question".', required=True
)
_CHANGES = flags.DEFINE_integer('changes', 3000, 'Requests that change.')
_RATE = flags.DEFINE_float('rate', 100.0, 'Changes a second, at most.')
_CLIENTS, _REQUESTS, _WRITERS = 8, 500, 32


_connections = threading.local()  # One a thread, kept open.


def _post(url: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
  if not hasattr(_connections, 'http'):
    address = parse.urlparse(url)
    _connections.http = http.client.HTTPConnection(
      address.hostname, address.port
    )
  _connections.http.request(
    'POST', path, json.dumps(body), {'Content-Type': 'application/json'}
  )
  reply = _connections.http.getresponse()
  content = json.loads(reply.read())
  if reply.status != 200:
    sys.exit(f'{path} failed: {content}')
  return content


def document(name: str, word: str) -> dict[str, str]:
  """Returns a document about a town."""
  text = f'The town of {name} has a {word}. Visitors of {name} like the {word}.'
  return {'id': name, 'title': name, 'text': text}


def bodies(number: int) -> Iterator[dict[str, Any]]:
  """Returns requests that add, replace and remove documents, a third each."""
  names = [f'Newtown {i}' for i in range(number // 3)]
  yield from ({'add': [document(x, 'castle')], 'remove': []} for x in names)
  yield from ({'add': [document(x, 'harbour')], 'remove': []} for x in names)
  yield from ({'add': [], 'remove': [x]} for x in names)


def _change(url: str) -> dict[str, float]:
  """Makes all changes; returns their rate and milliseconds."""
  begun, seconds = time.monotonic(), []

  def post(numbered):
    number, body = numbered
    time.sleep(max(0, begun + number / _RATE.value - time.monotonic()))
    asked = time.monotonic()
    _post(url, '/api/documents', body)
    seconds.append(time.monotonic() - asked)

  with concurrent.futures.ThreadPoolExecutor(_WRITERS) as pool:
    list(pool.map(post, enumerate(bodies(_CHANGES.value))))
  seconds.sort()
  return {
    'changes_a_second': len(seconds) / (time.monotonic() - begun),
    'p50_change_ms': 1e3 * seconds[len(seconds) // 2],
    'p99_change_ms': 1e3 * seconds[len(seconds) * 99 // 100],
  }


def _found_secs(url: str, number: int) -> float:
  """Returns the seconds from posting a document to an answer from it."""
  name = f'Oldtown {number}'
  begun = time.monotonic()
  _post(url, '/api/documents', {'add': [document(name, 'mill')], 'remove': []})
  while True:
    asked = {'question': f'What does the town of {name} have?'}
    evidence = _post(url, '/api/ask', asked)['evidence']
    if any(item['title'] == name for item in evidence):
      return time.monotonic() - begun
    if time.monotonic() - begun > 5:
      return float('inf')  # It is there, but the model reads others.


def _rows(server: running_server.Server) -> Iterator[dict[str, Any]]:
  with subprocess.Popen(
    [
      *(sys.executable, '-m', 'benchmarks.serve_clients', server.url),
      *(_QUESTIONS.value, str(_CLIENTS), str(_REQUESTS), 'on'),
    ],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
  ) as load:
    read = lambda: json.loads(load.stdout.readline())
    read()  # Warms up.
    before = [read() for _ in range(4)]
    cost: dict[str, float] = {}
    changing = threading.Thread(target=lambda: cost.update(_change(server.url)))
    changing.start()
    read()  # Half of it may be from before.
    beside = []
    while changing.is_alive():
      beside.append(read())
    before += [read() for _ in range(4)]
    found = [_found_secs(server.url, i) for i in range(20)]
    load.stdin.close()
    for _ in load.stdout:
      pass
  beside = beside[:-1]  # The last ended later.
  rates = [statistics.median(x['rate'] for x in y) for y in (beside, before)]
  yield {
    'case': f'questions a second, {_CLIENTS} clients',
    'ours': rates[0],
    'peer': rates[1],
    'ratio': rates[0] / rates[1],
    'failed': sum(each['failed'] for each in [*beside, *before]),
    'p99_ms': max(each['p99_ms'] for each in beside),
    'p99_ms_before': max(each['p99_ms'] for each in before),
    **cost,
  }
  yield {
    'case': 'seconds until a document is found, median',
    'ours': statistics.median(found),
    'peer': None,
    'ratio': None,
    'largest': max(x for x in found if x < float('inf')),
    'read': sum(x < float('inf') for x in found),
  }


def main(_):
  with tempfile.TemporaryDirectory() as directory:
    server = running_server.Server(
      _MODEL_DIR.value,
      _CORPUS_DIR.value,
      f'--documents_log={os.path.join(directory, "log")}',
    )
    printing.print_rows('live_documents', 'see case', _rows(server))
    server.close()


if __name__ == '__main__':
  app.run(main)
