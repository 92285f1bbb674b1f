r"""Answers questions from the blocks of a corpus, with the evidence.

  python -m bin.answer --model_dir=runs/qa --corpus_dir=runs/corpus \
      --question='What is the capital of Peru?'

Without --question, reads questions from standard input, one per line.
"""

import json
import sys

from . import answer_flags
from . import corpus_flags
from . import launcher

from absl import flags
from absl import logging

from realm_tf.corpus import files
from realm_tf.qa import loading

_QUESTION = flags.DEFINE_multi_string(
  'question', None, 'Question; by default each line of standard input'
)
_TOP_K = flags.DEFINE_integer('top_k', 3, 'Most blocks shown per answer.', 1)
_JSON = flags.DEFINE_bool(
  'json', False, 'Print JSON lines in the format of predictions.jsonl.'
)
answer_flags.define_search()


def main(_):
  corpus_dir = corpus_flags.CORPUS_DIR.value
  (answerer,) = answer_flags.load(corpus_dir, [flags.FLAGS.sparse_weight])
  loading.require_reader(answerer.reader, answer_flags.MODEL_DIR.value)
  # One by one: a user may be typing.
  for question in _QUESTION.value or files.typed_lines(sys.stdin.buffer):
    (answer,) = answerer.answer([question], _TOP_K.value)
    if _JSON.value:
      print(json.dumps(answer.as_json(), ensure_ascii=False), flush=True)
    else:
      print(answer.as_text())


if __name__ == '__main__':
  launcher.run(main, logging.ERROR)
