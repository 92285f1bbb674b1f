r"""Trains both embedders: by the Inverse Cloze Task, or on questions.

python -m bin.warm_start --config=launch/quickstart.py \
    --corpus_dir=runs/corpus --run_dir=runs/ict [--questions=train.jsonl]

With --questions, a question's block is that of its article (`gold_id`) which
has the answer, and without a gold_id the best that BM25 finds with the answer
in it. Both ways the other blocks of the batch are the negatives, and
`inverse_cloze` of the config says how.
"""

from bin import config_flags
from bin import launcher
from bin import question_flags
from bin import training_flags

from absl import flags

from realm_tf.retrieval import bm25
from realm_tf.training import inverse_cloze_run
from realm_tf.training import runs

_CORPUS_DIR = flags.DEFINE_string(
  'corpus_dir', None, 'Corpus, from bin.make_blocks.', required=True
)
_RUN_DIR = flags.DEFINE_string(
  'run_dir', None, 'New directory for the model.', required=True
)
_INIT_FROM = flags.DEFINE_string(
  'init_from',
  None,
  'Model directory to start from; its reader is published along, as it is.',
)


def _search(inputs, questions):
  """Returns what finds blocks for questions that name no article, if any."""
  if all(question.gold_id for question in questions):
    return None
  sparse = bm25.over_table(inputs.table)
  return lambda rows, _, k: sparse.retrieve_texts(
    [questions[row].question for row in rows], k
  )


def main(_):
  setup = training_flags.setup()
  questions = question_flags.read() if question_flags.are_given() else []
  inputs = runs.open_inputs(config_flags.load(), _CORPUS_DIR.value)
  inverse_cloze_run.run(
    inputs,
    _RUN_DIR.value,
    _INIT_FROM.value,
    setup,
    questions,
    _search(inputs, questions),
  )


if __name__ == '__main__':
  launcher.run(main)
