r"""Kills a server of live documents at random moments: is anything lost?

  python -m benchmarks.live_kills --model_dir=runs/qa --corpus_dir=runs/corpus

One client sends batches; each adds, replaces and removes a document. After
SIGKILL the server starts again with the same log. The log must have all
answered batches, and the last one either complete or not at all. The server
must count the log's documents. Exits with 1 otherwise.
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
import urllib.error
import urllib.request

from absl import app
from absl import flags

from benchmarks import printing
from benchmarks import running_server
from realm_tf.data import block_table
from realm_tf.serving import changes

_MODEL_DIR = flags.DEFINE_string('model_dir', None, 'Model.', required=True)
_CORPUS_DIR = flags.DEFINE_string('corpus_dir', None, 'Corpus.', required=True)
_KILLS = flags.DEFINE_integer('kills', 20, 'Number of kills.')
_SEED = flags.DEFINE_integer('seed', 0, 'Random seed of the moments.')
_MOST_SECS = 2.0  # From the first batch to the kill.

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
  headers = {'Content-Type': 'application/json'}
  while True:
    after, body = _after(documents, number)
    number += 1
    request = urllib.request.Request(
      f'{url}api/documents', json.dumps(body).encode(), headers
    )
    try:
      with urllib.request.urlopen(request) as reply:
        reply.read()
    except urllib.error.HTTPError as error:
      sys.exit(f'A batch was refused: {error.read()}')
    except (OSError, http.client.HTTPException):
      return documents, after, number
    documents = after


def _in_log(path: str, fingerprint: str) -> Documents:
  log = changes.DocumentLog(path, fingerprint)
  found = log.in_force().add
  log.close()
  return {each.article_id: each.text for each in found}


def _num_served(url: str) -> int:
  with urllib.request.urlopen(f'{url}api/about') as reply:
    return json.load(reply)['num_documents']


def _rounds(path: str) -> collections.Counter:
  count = collections.Counter(lost=0, half=0, served_otherwise=0)
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
    count['served_otherwise'] += _num_served(server.url) != len(documents)
  server.close()
  return count


def main(_):
  with tempfile.TemporaryDirectory() as directory:
    count = _rounds(os.path.join(directory, 'log'))
  printing.print_rows('live_kills', 'batches', [dict(count)])
  if count['lost'] or count['half'] or count['served_otherwise']:
    sys.exit(1)


if __name__ == '__main__':
  app.run(main)
