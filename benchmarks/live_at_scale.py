r"""Live documents beside a large corpus: speed, p99, seconds until found.

  python -m benchmarks.live_at_scale --model_dir=runs/qa \
      --corpus_dir=runs/corpus --questions=runs/world/test_questions.jsonl \
      --num_blocks=1000000

The corpus repeats that of --corpus_dir, its embeddings with a little noise, so
that nothing of that size is cut or embedded. Service, log, searcher (ScaNN) and
reader are the server's; clients are threads beside them, without HTTP.
"""

from collections.abc import Callable, Iterator
import concurrent.futures
import dataclasses
import itertools
import json
import os
import statistics
import tempfile
import threading
import time
from typing import Any

from absl import app
from absl import flags
import numpy as np

from benchmarks import live_documents
from benchmarks import printing
from realm_tf import config as config_lib
from realm_tf.answering import loading
from realm_tf.index import searchers
from realm_tf.live import document_log
from realm_tf.live import edited_corpus
from realm_tf.records import block_table
from realm_tf.retrieval import hot_swap
from realm_tf.serving import document_request
from realm_tf.serving import served_model
from realm_tf.serving import service as service_lib

_NUM_BLOCKS = flags.DEFINE_integer('num_blocks', 1_000_000, 'Of the corpus.')
_NOISE = 0.05  # Standard deviation, in that of the embeddings' entries.
_CLIENTS, _WRITERS, _QUIET_SECS = 8, 32, 20.0


class _RepeatedTable:
  """A table of `num_blocks` blocks that repeat those of another."""

  def __init__(self, table: block_table.BlockTable, num_blocks: int):
    self._table, self.num_blocks = table, num_blocks
    self.manifest = table.manifest
    self.find_article = table.find_article

  def __getattr__(self, name: str) -> Callable[..., Any]:
    method = getattr(self._table, name)
    own = self._table.num_blocks
    # Null blocks, which are negative, stay as they are.
    return lambda ids, *rest: method(
      np.where(np.less(ids, 0), ids, np.mod(ids, own)), *rest
    )


def _embeddings(own: np.ndarray, num_blocks: int) -> np.ndarray:
  rng = np.random.default_rng(0)
  made = np.resize(own, [num_blocks, own.shape[1]])
  for start in range(len(own), num_blocks, len(own)):
    part = made[start : start + len(own)]
    part += _NOISE * own.std() * rng.standard_normal(part.shape, np.float32)
  return made


def _serve(log: str) -> service_lib.Service:
  values = flags.FLAGS
  loaded = loading.load(values.model_dir, values.corpus_dir)
  num_blocks = _NUM_BLOCKS.value
  own = np.asarray(loaded.index.embeddings[:], np.float32)
  built = searchers.build(
    _embeddings(own, num_blocks), config_lib.IndexConfig(searcher='scann')
  )
  loaded = dataclasses.replace(
    loaded,
    table=_RepeatedTable(loaded.table, num_blocks),
    index=loaded.index._replace(searcher=built.searcher),
  )
  edits = edited_corpus.EditedCorpus(loaded)
  edits.warm()
  answerer = loading.answerer_of(edits.opened)
  model = served_model.ServedModel(answerer, edits)
  versions = served_model.Versions(0, 0)
  live = hot_swap.HotSwap(lambda: versions, lambda _: model)
  live.load_first()
  fingerprint = edits.table.manifest['corpus_fingerprint']
  return service_lib.Service(
    live, log=document_log.DocumentLog(log, fingerprint)
  )


def _ask(service, questions, seconds, until: threading.Event) -> None:
  """Asks until it is told to end; appends (end, seconds) of each question."""
  for question in itertools.cycle(questions):
    begun = time.monotonic()
    service.ask([question])[0].result()
    seconds.append((time.monotonic(), time.monotonic() - begun))
    if until.is_set():
      return


def _post(service, body: dict[str, Any]) -> None:
  service.writer.submit(document_request.parse(body)).result()


def _change(service) -> float:
  """Makes all changes; returns how many a second."""
  begun = time.monotonic()

  def post(numbered):
    number, body = numbered
    due = begun + number / flags.FLAGS.rate
    time.sleep(max(0, due - time.monotonic()))
    _post(service, body)

  bodies = list(live_documents.bodies(flags.FLAGS.changes))
  with concurrent.futures.ThreadPoolExecutor(_WRITERS) as pool:
    list(pool.map(post, enumerate(bodies)))
  return len(bodies) / (time.monotonic() - begun)


def _found_secs(service, number: int) -> float:
  name = f'Oldtown {number}'
  begun = time.monotonic()
  document = live_documents.document(name, 'mill')
  _post(service, {'add': [document], 'remove': []})
  question = f'What does the town of {name} have?'
  (answer,) = (each.result() for each in service.ask([question]))
  is_read = any(item.title == name for item in answer.evidence)
  return time.monotonic() - begun if is_read else float('inf')


def _rows(service) -> Iterator[dict[str, Any]]:
  with open(flags.FLAGS.questions) as file:
    questions = [json.loads(line)['question'] for line in file]
  seconds, until = [], threading.Event()
  with concurrent.futures.ThreadPoolExecutor(_CLIENTS) as pool:
    asked = [
      pool.submit(_ask, service, questions[i::_CLIENTS], seconds, until)
      for i in range(_CLIENTS)
    ]
    try:
      time.sleep(_QUIET_SECS / 2)  # Warms up.
      quiet = time.monotonic()
      time.sleep(_QUIET_SECS)
      changing = time.monotonic()
      rate = _change(service)
      end = time.monotonic()
      found = [_found_secs(service, i) for i in range(20)]
    finally:
      until.set()  # Else the clients would never end.
    for each in asked:
      each.result()
  parts = [
    sorted(secs for at, secs in seconds if start < at <= stop)
    for start, stop in ((changing, end), (quiet, changing))
  ]
  rates = [len(parts[0]) / (end - changing), len(parts[1]) / (changing - quiet)]
  p99 = [1e3 * part[len(part) * 99 // 100] for part in parts]
  yield {
    'case': f'questions a second, {_NUM_BLOCKS.value:,} blocks',
    'ours': rates[0],
    'peer': rates[1],
    'ratio': rates[0] / rates[1],
    'changes_a_second': rate,
    'p99_ms': p99[0],
    'p99_ms_before': p99[1],
  }
  yield {
    'case': 'seconds until a document is found, median',
    'ours': statistics.median(found),
    'peer': None,
    'ratio': None,
    'largest': max((x for x in found if x < float('inf')), default=None),
    'read': sum(x < float('inf') for x in found),
  }


def main(_):
  with tempfile.TemporaryDirectory() as directory:
    service = _serve(os.path.join(directory, 'log'))
    printing.print_rows('live_at_scale', 'see case', _rows(service))
    service.close()


if __name__ == '__main__':
  app.run(main)
