"""Model directories for tests of exported models, and a separate process."""

import json
import os
import subprocess
import sys
from typing import Any

from realm_tf import config as config_lib
from realm_tf.corpus import sources
from realm_tf.model import realm_model
from realm_tf.run import layout
from realm_tf.training import job as job_lib
from tests import model_dirs
from tests import tiny

# Each text has different numbers of bytes, characters and wordpieces; '…' is
# one character and three wordpieces.
ARTICLES = (
  sources.Article('Á', 'Ä b… Ç d. E 😀 f. The a, c. A, the C.', 'first'),
  sources.Article('b', 'É f. A c. «Ä» ... b.', 'second'),
  sources.Article('日本', 'B d. C é. 日本 D f. E a.', 'third'),
)
QUESTIONS = ('a b ?', 'Ç… D', '', '日本 \x00', 'e f ' * 50, '😀', 'c', 'A b?')


def write_corpus(directory: str) -> str:
  """Writes the corpus of `ARTICLES` below `directory`; returns its path."""
  return tiny.write_corpus(directory, ARTICLES)


def config(**finetuning: Any) -> config_lib.ExperimentConfig:
  """Returns the tiny config with changed fields of `finetuning`."""
  return tiny.config(lengths={'question_tokens': 4}, finetuning=finetuning)


def write_model(
  path: str,
  corpus_dir: str,
  config: config_lib.ExperimentConfig,
  parts: tuple[str, ...] = (realm_model.EMBEDDER, realm_model.SPAN),
) -> str:
  """Writes a model directory of large random parameters; returns `path`."""
  inputs = job_lib.open_inputs(config, corpus_dir)
  # With weights of 0.02, all spans would have nearly equal scores.
  model = model_dirs.write(path, inputs, parts, seed=1, scale=20.0)
  model_dirs.index(inputs, model, layout.index_root(path))
  return path


def run_alone(script: str, request: Any) -> Any:
  """Runs a script that cannot import realm_tf, with `request` as JSON on stdin.

  Returns the last line of stdout, parsed. $REALM_USER_PYTHON may name another
  interpreter, with tensorflow, tensorflow-text and tensorflow-hub alone.
  """
  process = subprocess.run(
    [os.environ.get('REALM_USER_PYTHON', sys.executable), '-I', script],
    input=json.dumps(request),
    capture_output=True,
    text=True,
    cwd='/',
    check=False,
  )
  if process.returncode:
    raise RuntimeError(f'{script} failed:\n{process.stderr}')
  return json.loads(process.stdout.splitlines()[-1])
