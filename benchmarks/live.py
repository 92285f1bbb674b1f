r"""A server during changes of documents: speed, p99, seconds until found.

  python -m benchmarks.live --model_dir=runs/qa --corpus_dir=runs/corpus \
      --questions=runs/world/test_questions.jsonl
  python -m benchmarks.live --model_dir=runs/qa --corpus_dir=runs/corpus \
      --kills=20

Eight clients ask without a pause, while --changes requests add, replace and
remove a document each, a third each, at most --rate per second. First row:
`ours` is questions per second during the changes, `peer` without changes.

With --kills, one client sends batches; each adds, replaces and removes a
document. After SIGKILL at a random moment the server starts again with the same
log. The log must have all answered batches, and the last one either complete or
not at all. The server must count the log's documents, and words must find the
newest one. Exits with 1 otherwise. The search is realm.json's, if --model_dir
has it, or a --serve_flag's, such as --serve_flag=--retriever=bm25.
"""

import collections
from collections.abc import Iterator
import concurrent.futures
import http.client
import json
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from typing import Any
from urllib import parse
import urllib.request

from absl import app
from absl import flags

from benchmarks import printing
from benchmarks import running_server
from realm_tf.data import block_table
from realm_tf.serving import changes

_MODEL_DIR = flags.DEFINE_string('model_dir', None, 'Model.', required=True)
_CORPUS_DIR = flags.DEFINE_string('corpus_dir', None, 'Corpus.', required=True)
_QUESTIONS = flags.DEFINE_string('questions', None, 'JSONL, "question".')
_CHANGES = flags.DEFINE_integer('changes', 3000, 'Changes of a document.')
_REQUESTS = flags.DEFINE_integer('requests', 500, 'Questions per measurement.')
_RATE = flags.DEFINE_float('rate', 100.0, 'Most changes per second.')
_KILLS = flags.DEFINE_integer('kills', 0, 'Number of kills.')
_SERVE_FLAGS = flags.DEFINE_multi_string(
  'serve_flag', [], 'More flags of bin.serve.'
)
_WRITERS, _FOUND = 32, 20
_MOST_SECS = 2.0  # From the first batch to the kill.
_connections = threading.local()  # One open connection per thread.


def _post(url: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
  if not hasattr(_connections, 'http'):
    address = parse.urlparse(url)
    _connections.http = http.client.HTTPConnection(
      address.hostname, address.port
    )
  headers = {'Content-Type': 'application/json'}
  _connections.http.request('POST', path, json.dumps(body), headers)
  reply = _connections.http.getresponse()
  content = json.loads(reply.read())
  if reply.status != 200:
    sys.exit(f'{path} failed: {content}')
  return content


def _document(name: str, word: str) -> dict[str, str]:
  text = f'The town of {name} has a {word}. Visitors of {name} like the {word}.'
  return {'id': name, 'title': name, 'text': text}


def _bodies(number: int) -> Iterator[dict[str, Any]]:
  """Yields requests that add, replace and remove documents, a third each."""
  names = [f'Newtown {i}' for i in range(number // 3)]
  yield from ({'add': [_document(x, 'castle')], 'remove': []} for x in names)
  yield from ({'add': [_document(x, 'harbour')], 'remove': []} for x in names)
  yield from ({'add': [], 'remove': [x]} for x in names)


def _change(url: str) -> dict[str, float]:
  """Sends all changes; returns their rate and milliseconds."""
  begun, seconds = time.monotonic(), []

  def post(numbered: tuple[int, dict[str, Any]]) -> None:
    number, body = numbered
    time.sleep(max(0, begun + number / _RATE.value - time.monotonic()))
    asked = time.monotonic()
    _post(url, '/api/documents', body)
    seconds.append(time.monotonic() - asked)

  with concurrent.futures.ThreadPoolExecutor(_WRITERS) as pool:
    list(pool.map(post, enumerate(_bodies(_CHANGES.value))))
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
  _post(url, '/api/documents', {'add': [_document(name, 'mill')], 'remove': []})
  asked = {'question': f'What does the town of {name} have?'}
  evidence = _post(url, '/api/ask', asked)['evidence']
  if any(item['title'] == name for item in evidence):
    return time.monotonic() - begun
  return float('inf')  # The model reads other blocks than the document's.


def _rows(url: str) -> Iterator[dict[str, Any]]:
  with running_server.load(url, _QUESTIONS.value, _REQUESTS.value) as read:
    read()  # Warms up.
    quiet = [read() for _ in range(4)]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
      cost = pool.submit(_change, url)
      read()  # May begin before the changes.
      during = [read()]
      while not cost.done():
        during.append(read())
    quiet += [read() for _ in range(4)]
    found = [_found_secs(url, i) for i in range(_FOUND)]
  during = during[:-1] or during  # The last may end after the changes.
  rates = [statistics.median(x['rate'] for x in y) for y in (during, quiet)]
  yield printing.row(
    f'questions a second, {running_server.CLIENTS} clients',
    *rates,
    failed=sum(each['failed'] for each in [*during, *quiet]),
    p99_ms=max(each['p99_ms'] for each in during),
    p99_ms_quiet=max(each['p99_ms'] for each in quiet),
    **cost.result(),
  )
  yield printing.row(
    'seconds until a document is found, median',
    statistics.median(found),
    largest=max((x for x in found if x < float('inf')), default=None),
    read=sum(x < float('inf') for x in found),
  )


Documents = dict[str, str]  # Id -> text, of added documents.


def _after(documents: Documents, number: int) -> tuple[Documents, Any]:
  """Returns the documents after batch `number`, and its request."""
  text = f'Batch {number} was here.'
  names = [f'town {number}', f'town {number - 1}']
  gone = [f'town {number - 2}'] if f'town {number - 2}' in documents else []
  after = {**documents, **dict.fromkeys(names, text)}
  for name in gone:
    del after[name]
  add = [{'id': name, 'title': name, 'text': text} for name in names]
  return after, {'add': add, 'remove': gone}


def _send_until_killed(url: str, documents: Documents, number: int):
  """Returns the acknowledged documents, the last tried ones, and a number."""
  while True:
    after, body = _after(documents, number)
    number += 1
    try:
      _post(url, '/api/documents', body)
    except (OSError, http.client.HTTPException):
      return documents, after, number
    documents = after


def _in_log(path: str, fingerprint: str) -> Documents:
  log = changes.DocumentLog(path, fingerprint)
  found = log.in_force()
  log.close()
  return {i: each.text for i, each in found.items() if each}


def _serves(url: str, documents: Documents) -> bool:
  """Returns whether all documents are there, and words find the last one."""
  with urllib.request.urlopen(f'{url}api/about') as reply:
    if json.load(reply)['num_documents'] != len(documents):
      return False
  last = list(documents)[-1:]
  _connections.__dict__.clear()  # Of the server before.
  found = [_post(url, '/api/search', {'text': name})['blocks'] for name in last]
  return all(blocks[0]['title'] == name for name, blocks in zip(last, found))


def _serve(log: str) -> running_server.Server:
  return running_server.Server(
    *(_MODEL_DIR.value, _CORPUS_DIR.value, f'--documents_log={log}'),
    *_SERVE_FLAGS.value,
  )


def _rounds(path: str) -> collections.Counter:
  count = collections.Counter(lost=0, half=0, served_otherwise=0)
  manifest = block_table.read_manifest(_CORPUS_DIR.value)
  moments = random.Random(0)
  documents: Documents = {}
  number, server = 0, _serve(path)
  for _ in range(_KILLS.value):
    timer = threading.Timer(moments.uniform(0, _MOST_SECS), server.kill)
    timer.start()
    begun = number
    sure, maybe, number = _send_until_killed(server.url, documents, number)
    timer.join()
    documents = _in_log(path, manifest['corpus_fingerprint'])
    count['kills'] += 1
    count['acknowledged'] += number - 1 - begun
    count['lost'] += any(documents.get(x) is None for x in sure.keys() & maybe)
    count['half'] += documents not in (sure, maybe)
    count['unanswered_but_there'] += documents == maybe != sure
    server = _serve(path)
    count['served_otherwise'] += not _serves(server.url, documents)
  server.close()
  return count


def main(_):
  with tempfile.TemporaryDirectory() as directory:
    log = os.path.join(directory, 'log')
    if _KILLS.value:
      count = _rounds(log)
      printing.print_rows('live_kills', 'batches', [dict(count)])
      if count['lost'] or count['half'] or count['served_otherwise']:
        sys.exit(1)
      return
    server = _serve(log)
    printing.print_rows('live', 'see case', _rows(server.url))
    server.close()


if __name__ == '__main__':
  app.run(main)
