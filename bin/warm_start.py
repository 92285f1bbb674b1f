r"""Trains both embedders on the Inverse Cloze Task or on questions.

python -m bin.warm_start --config=launch/quickstart.py \
    --corpus_dir=runs/corpus --run_dir=runs/ict [--questions=train.jsonl]

The negatives are the other blocks of the batch; --negatives_from adds one per
question from a model's index. The config's section is `inverse_cloze`. The
reader of --init_from is published unchanged.
"""

from . import config_flags
from . import corpus_flags
from . import launcher
from . import path_flags
from . import question_flags
from . import training_flags

from realm_tf.answering import loading
from realm_tf.retrieval import bm25
from realm_tf.retrieval import retrievers
from realm_tf.training import runs
from realm_tf.training.inverse_cloze import inverse_cloze_run

_RUN_DIR = path_flags.new('run_dir', 'New model directory to write.')
_NEGATIVES_FROM = path_flags.existing(
  'negatives_from', 'Model directory that searches for hard negatives.'
)
launcher.check_flags(
  lambda negatives_from, questions: questions or not negatives_from,
  '--questions must be given with --negatives_from, which searches for them.',
)


def _negatives_from():
  """Returns the retriever of hard negatives, or None."""
  model_dir = _NEGATIVES_FROM.value
  if not model_dir:
    return None
  loaded = loading.load(model_dir, corpus_flags.CORPUS_DIR.value)
  return retrievers.over_index(loaded)


def _words(inputs, questions):
  """Returns BM25; None if every question names its article."""
  if all(question.gold_id for question in questions):
    return None
  return bm25.over_table(inputs.table)


def main(_):
  job = training_flags.job(_RUN_DIR.value)
  questions = question_flags.read()
  inputs = runs.open_inputs(
    config_flags.config(), corpus_flags.CORPUS_DIR.value
  )
  inverse_cloze_run.run(
    inputs,
    questions,
    job,
    words=_words(inputs, questions),
    negatives_from=_negatives_from(),
  )


if __name__ == '__main__':
  launcher.run(main, reads=config_flags.ALL)
