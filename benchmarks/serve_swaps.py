r"""The server's model and index replaced under load: failures, memory, p99.

  python -m benchmarks.serve_swaps --model_dir=runs/qa --other_dir=runs/qa_ict \
      --corpus_dir=runs/corpus --questions=runs/world/test_questions.jsonl

Eight clients ask without a pause. Index and parameters of the two models are
published alternately as newer versions in a copy of the model directory, the
next once the server answers with the last. A row per swap.
"""

from collections.abc import Iterator
import json
import os
import pathlib
import shutil
import tempfile
import time
from typing import Any
import urllib.request

from absl import app
from absl import flags

from benchmarks import printing
from benchmarks import running_server
from benchmarks import serve_clients

_MODEL_DIR = flags.DEFINE_string('model_dir', None, 'Model.', required=True)
_OTHER_DIR = flags.DEFINE_string('other_dir', None, 'Model 2.', required=True)
_CORPUS_DIR = flags.DEFINE_string(
  'corpus_dir', None, 'Corpus of both models.', required=True
)
_QUESTIONS = flags.DEFINE_string(
  'questions', None, 'JSONL, "question".', required=True
)
_SWAPS = flags.DEFINE_integer('swaps', 10, 'Number of swaps.')
_REQUESTS = flags.DEFINE_integer('requests', 300, 'Questions per measurement.')

_COMPARED = 100  # Questions whose answers identify the model.
_FIRST_STEP = 1_000_000  # Newer than the models' own versions.


def _publish(source: str, model_dir: str, step: int) -> None:
  """Copies the newest versions of `source` into `model_dir` as `step`."""
  for folder in ('index', 'params'):  # An index is unused without parameters.
    (newest,) = sorted(pathlib.Path(source, folder).iterdir())[-1:]
    hidden = os.path.join(model_dir, 'coming')
    shutil.copytree(newest, hidden)
    os.rename(hidden, os.path.join(model_dir, folder, f'{step:09d}'))


def _answers(url: str, questions: list[str]) -> list[str]:
  body = json.dumps({'instances': questions}).encode()
  with urllib.request.urlopen(url + serve_clients.PATH[1:], body) as reply:
    predictions = json.load(reply)['predictions']
  return [each['answers'] for each in predictions]


def _rows(
  server: running_server.Server, model_dir: str
) -> Iterator[dict[str, Any]]:
  compared = serve_clients.read_questions(_QUESTIONS.value)[:_COMPARED]
  before = _answers(server.url, compared)
  with running_server.load(
    server.url, _QUESTIONS.value, _REQUESTS.value
  ) as read:
    for number in range(_SWAPS.value):
      source = (_OTHER_DIR, _MODEL_DIR)[number % 2].value
      figures = [read()]
      begun = time.monotonic()
      _publish(source, model_dir, _FIRST_STEP + number)
      while (after := _answers(server.url, compared)) == before:
        figures.append(read())
      swapped = time.monotonic() - begun
      changed = sum(a != b for a, b in zip(before, after, strict=True))
      yield printing.row(
        f'swap {number + 1}: failed requests',
        sum(each['failed'] for each in figures),
        seconds_until_seen=swapped,
        answers_changed_percent=100 * changed / len(compared),
        p50_ms=figures[-1]['p50_ms'],
        p99_ms=max(each['p99_ms'] for each in figures),
        memory_mb=server.memory_mb(),
      )
      before = after


def main(_):
  with tempfile.TemporaryDirectory() as directory:
    model_dir = os.path.join(directory, 'model')
    shutil.copytree(
      *(_MODEL_DIR.value, model_dir),
      ignore=shutil.ignore_patterns('checkpoints', 'summaries'),
    )
    server = running_server.Server(
      model_dir, _CORPUS_DIR.value, '--poll_secs=0.2'
    )
    printing.print_rows('serve_swaps', 'see case', _rows(server, model_dir))
    server.close()


if __name__ == '__main__':
  app.run(main)
