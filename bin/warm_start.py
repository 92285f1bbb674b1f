r"""Trains both embedders: by the Inverse Cloze Task, or on questions.

python -m bin.warm_start --config=launch/quickstart.py \
    --corpus_dir=runs/corpus --run_dir=runs/ict [--questions=train.jsonl]

With --questions, a question's block is the one of its article (`gold_id`) that
has the answer; without a gold_id, the best that BM25 finds with the answer. The
other blocks of the batch are the negatives. The config's section is
`inverse_cloze`. The reader of --init_from is published along, unchanged.
"""

from . import config_flags
from . import corpus_flags
from . import launcher
from . import question_flags
from . import training_flags

from absl import flags

from realm_tf.retrieval import bm25
from realm_tf.training import inverse_cloze_run
from realm_tf.training import runs

_RUN_DIR = flags.DEFINE_string(
  'run_dir', None, 'New model directory to write.', required=True
)


def _search(inputs, questions):
  """Returns BM25's search; None if every question names its article."""
  if all(question.gold_id for question in questions):
    return None
  sparse = bm25.over_table(inputs.table)
  return lambda rows, _, k: sparse.retrieve_texts(
    [questions[row].question for row in rows], k
  )


def main(_):
  setup = training_flags.setup()
  questions = question_flags.read() if question_flags.are_given() else []
  inputs = runs.open_inputs(config_flags.load(), corpus_flags.CORPUS_DIR.value)
  inverse_cloze_run.run(
    inputs,
    _RUN_DIR.value,
    training_flags.INIT_FROM.value,
    setup,
    questions,
    _search(inputs, questions),
  )


if __name__ == '__main__':
  launcher.run(main)
