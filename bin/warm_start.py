r"""Trains both embedders on the Inverse Cloze Task or on questions.

python -m bin.warm_start --config=launch/quickstart.py \
    --corpus_dir=runs/corpus --run_dir=runs/ict [--questions=train.jsonl]

The negatives are the other blocks of the batch. The config's section is
`inverse_cloze`. The reader of --init_from is published unchanged.
"""

from . import config_flags
from . import corpus_flags
from . import launcher
from . import path_flags
from . import question_flags
from . import training_flags

from realm_tf.retrieval import bm25
from realm_tf.training import inverse_cloze_run
from realm_tf.training import job as job_lib

_RUN_DIR = path_flags.new('run_dir', 'New model directory to write.')


def main(_):
  job = training_flags.job(_RUN_DIR.value)
  questions = question_flags.read()
  inputs = job_lib.open_inputs(
    config_flags.config(), corpus_flags.CORPUS_DIR.value
  )
  # BM25 finds blocks for questions that name no article.
  words = None
  if not all(question.gold_id for question in questions):
    words = bm25.over_table(inputs.table)
  inverse_cloze_run.run(inputs, questions, job, words=words)


if __name__ == '__main__':
  launcher.run(main, reads=config_flags.ALL)
