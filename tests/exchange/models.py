"""Model directories for tests of exported models, and a separate process."""

from collections.abc import Sequence
import json
import os
import subprocess
import sys
from typing import Any

from realm_tf.corpus import sources
from tests import tiny
from tests.serving import small_models

# Each text has different numbers of bytes, characters and wordpieces; '…' is
# one character and three wordpieces.
ARTICLES = (
  sources.Article('Á', 'Ä b… Ç d. E 😀 f. The a, c. A, the C.', 'first'),
  sources.Article('b', 'É f. A c. «Ä» ... b.', 'second'),
  sources.Article('日本', 'B d. C é. 日本 D f. E a.', 'third'),
)
QUESTIONS = ('a b ?', 'Ç… D', '', '日本 \x00', 'e f ' * 50, '😀', 'c', 'A b?')


def write_model(
  path: str,
  corpus_dir: str,
  parts: Sequence[str] = small_models.QA,
  **finetuning: Any,
) -> None:
  """Writes a model directory of large random parameters.

  `finetuning` has changed fields of this section of the tiny config.
  """
  config = tiny.config(lengths={'question_tokens': 4}, finetuning=finetuning)
  # With weights of 0.02, all spans would have nearly equal scores.
  small_models.write(path, corpus_dir, parts, config, seed=1, scale=20.0)


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
