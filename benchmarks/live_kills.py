r"""A server of live documents, killed at random moments: is anything lost?

  python -m benchmarks.live_kills --model_dir=runs/qa --corpus_dir=runs/corpus

One client sends batches; each adds a document, replaces one and removes one.
After a kill (SIGKILL) the server starts again with the same log, and it must
have all batches that were answered, and the one that was not wholly or not at
all. Ends with code 1 if one is lost or half there.
"""

import collections
import http.client
import json
import os
import random
import sys
import tempfile
import threading
from typing import Any
from urllib import parse

from absl import app
from absl import flags

from benchmarks import printing
from benchmarks import running_server
from realm_tf.live import document_log
from realm_tf.records import block_table

_MODEL_DIR = flags.DEFINE_string('model_dir', None, 'Served.', required=True)
_CORPUS_DIR = flags.DEFINE_string('corpus_dir', None, 'Its.', required=True)
_KILLS = flags.DEFINE_integer('kills', 20, 'Times that the server is killed.')
_SEED = flags.DEFINE_integer('seed', 0, 'Of the moments of the kills.')
_MOST_SECS = 2.0  # From the first batch to the kill.

Documents = dict[str, str]  # Id -> text, of added documents.


def _post(url: str, body: dict[str, Any]) -> tuple[int, str]:
  address = parse.urlparse(url)
  connection = http.client.HTTPConnection(address.hostname, address.port)
  headers = {'Content-Type': 'application/json'}
  connection.request('POST', '/api/documents', json.dumps(body), headers)
  reply = connection.getresponse()
  return reply.status, reply.read().decode()


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
  """Returns what was acknowledged, what may be, and the next number."""
  while True:
    after, body = _after(documents, number)
    number += 1
    try:
      status, text = _post(url, body)
    except (OSError, http.client.HTTPException):
      return documents, after, number
    if status != 200:
      sys.exit(f'A batch was refused: {text}')
    documents = after


def _in_log(path: str, fingerprint: str) -> Documents:
  log = document_log.DocumentLog(path, fingerprint)
  log.close()
  documents: Documents = {}
  for change in log.changes:
    for name in change.remove:
      documents.pop(name, None)
    documents.update((each.article_id, each.text) for each in change.add)
  return documents


def _is_served(url: str, names: set[str], other: set[str]) -> bool:
  """Whether the server knows `names` and not `other`; changes nothing."""
  # A batch that removes what is not there is refused, and names it.
  first_missing = lambda *ids: _post(url, {'add': [], 'remove': [*ids]})[1]
  return all('never' in first_missing(name, 'never') for name in names) and all(
    'never' not in first_missing(name, 'never') for name in other
  )


def _rounds(path: str, count: collections.Counter) -> None:
  manifest = block_table.read_manifest(_CORPUS_DIR.value)
  moments = random.Random(_SEED.value)
  serve = lambda: running_server.Server(
    _MODEL_DIR.value, _CORPUS_DIR.value, f'--documents_log={path}'
  )
  documents: Documents = {}
  number, server = 0, serve()
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
    server = serve()
    other = {f'town {i}' for i in range(number)} - set(documents)
    recent = {f'town {i}' for i in range(max(0, number - 20), number)}
    is_served = _is_served(server.url, set(documents), other & recent)
    count['served_otherwise'] += not is_served
  server.close()


def main(_):
  count: collections.Counter = collections.Counter(
    dict.fromkeys(('lost', 'half', 'served_otherwise'), 0)
  )
  with tempfile.TemporaryDirectory() as directory:
    _rounds(os.path.join(directory, 'log'), count)
  printing.print_rows('live_kills', 'batches', [dict(count)])
  if count['lost'] or count['half'] or count['served_otherwise']:
    sys.exit(1)


if __name__ == '__main__':
  app.run(main)
