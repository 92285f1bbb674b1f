r"""Trains both embedders on the Inverse Cloze Task or on questions.

python -m bin.warm_start --config=launch/quickstart.py \
    --corpus_dir=runs/corpus --run_dir=runs/ict [--questions=train.jsonl]

The negatives are the other blocks of the batch. The config's section is
`inverse_cloze`. The reader of --init_from is published unchanged.
"""

from . import launcher
from . import model_flags
from . import question_flags

from realm_tf.retrieval import word_search
from realm_tf.training import inverse_cloze_run


def main(_):
  job, inputs = model_flags.begin()
  questions = question_flags.read()
  # BM25 finds blocks for questions that name no article.
  words = None
  if not all(question.gold_id for question in questions):
    words = word_search.over_table(inputs.table)
  inverse_cloze_run.run(inputs, questions, job, words=words)


if __name__ == '__main__':
  launcher.run(main, reads=launcher.ALL_FIELDS)
