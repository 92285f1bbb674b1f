r"""A server during changes of documents: speed, p99, seconds until found.

  python -m benchmarks.live --model_dir=runs/qa --corpus_dir=runs/corpus \
      --questions=runs/world/test_questions.jsonl [--num_blocks=1000000]

Eight clients ask without a pause, while --changes requests add, replace and
remove a document each, a third each, at most --rate per second. First row:
`ours` is questions per second during the changes, `peer` without changes. With
--num_blocks, the benchmark's process searches that number of blocks by ScaNN:
the corpus repeated, with a little noise in the embeddings.
"""

from collections.abc import Callable, Iterator
import concurrent.futures
import contextlib
import dataclasses
import http.client
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from typing import Any
from urllib import parse

from absl import app
from absl import flags
import numpy as np

from benchmarks import printing
from benchmarks import running_server

_MODEL_DIR = flags.DEFINE_string('model_dir', None, 'Model.', required=True)
_CORPUS_DIR = flags.DEFINE_string('corpus_dir', None, 'Corpus.', required=True)
_QUESTIONS = flags.DEFINE_string(
  'questions', None, 'JSONL, "question".', required=True
)
_CHANGES = flags.DEFINE_integer('changes', 3000, 'Changes of a document.')
_REQUESTS = flags.DEFINE_integer('requests', 500, 'Questions per measurement.')
_RATE = flags.DEFINE_float('rate', 100.0, 'Most changes per second.')
_NUM_BLOCKS = flags.DEFINE_integer('num_blocks', None, 'Size of the corpus.')
_NOISE = 0.05  # Standard deviation, relative to the embeddings' entries.
_WRITERS, _FOUND = 32, 20
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


class _RepeatedTable:
  """A table of `num_blocks` blocks that repeat another table's blocks."""

  def __init__(self, table: Any, num_blocks: int):
    self._table, self.num_blocks = table, num_blocks
    self.manifest, self.find_article = table.manifest, table.find_article

  def __getattr__(self, name: str) -> Callable[..., Any]:
    method, own = getattr(self._table, name), self._table.num_blocks
    # Null blocks are negative and stay unchanged.
    return lambda ids, *rest: method(
      np.where(np.less(ids, 0), ids, np.mod(ids, own)), *rest
    )


@contextlib.contextmanager
def _repeated(log: str, num_blocks: int) -> Iterator[str]:
  """Serves a repeated corpus in threads; yields the server's address."""
  # A server in another process needs no import of TensorFlow here.
  from realm_tf import config as config_lib
  from realm_tf.index import searchers
  from realm_tf.qa import loading
  from realm_tf.serving import changes
  from realm_tf.serving import edited_corpus
  from realm_tf.serving import served_model
  from realm_tf.serving import service as service_lib
  from tests.serving import running_server as threads

  loaded = loading.load(_MODEL_DIR.value, _CORPUS_DIR.value)
  own = np.asarray(loaded.index.embeddings[:], np.float32)
  made = np.resize(own, [num_blocks, own.shape[1]])
  rng = np.random.default_rng(0)
  for start in range(len(own), num_blocks, len(own)):
    part = made[start : start + len(own)]
    part += _NOISE * own.std() * rng.standard_normal(part.shape, np.float32)
  built = searchers.build(made, config_lib.IndexConfig(searcher='scann'))
  loaded = dataclasses.replace(
    loaded,
    table=_RepeatedTable(loaded.table, num_blocks),
    index=loaded.index._replace(searcher=built.searcher),
  )
  edits = edited_corpus.EditedCorpus(loaded)
  edits.warm()
  answerer = loading.answerer_of(edits.opened)
  fingerprint = edits.table.manifest['corpus_fingerprint']
  service = service_lib.Service(
    threads.live(served_model.ServedModel(answerer, edits)),
    log=changes.DocumentLog(log, fingerprint),
  )
  with threads.run(service) as running:
    yield f'http://127.0.0.1:{running.client.port}/'


def main(_):
  with tempfile.TemporaryDirectory() as directory:
    log = os.path.join(directory, 'log')
    if _NUM_BLOCKS.value:
      with _repeated(log, _NUM_BLOCKS.value) as url:
        printing.print_rows('live', 'see case', _rows(url))
    else:
      server = running_server.Server(
        _MODEL_DIR.value, _CORPUS_DIR.value, f'--documents_log={log}'
      )
      printing.print_rows('live', 'see case', _rows(server.url))
      server.close()


if __name__ == '__main__':
  app.run(main)
