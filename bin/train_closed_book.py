r"""Trains a T5 that answers from its weights, without blocks (closed book).

python -m bin.train_closed_book --config=launch/quickstart.py \
    --corpus_dir=runs/corpus --queries_dir=runs/queries --run_dir=runs/t5
python -m bin.train_closed_book --config=launch/quickstart.py \
    --corpus_dir=runs/corpus --questions=train.jsonl --init_from=runs/t5 \
    --run_dir=runs/qa_t5
python -m bin.evaluate --retriever=none --model_dir=runs/qa_t5 ...

The first run learns to fill in salient spans, the second to answer questions
(Roberts et al. 2020). The corpus provides only the vocabulary. The config's
sections are `closed_book` and `model.seq2seq`.
"""

from . import launcher
from . import model_flags
from . import question_flags

from realm_tf.data import query_table
from realm_tf.training import closed_book_trainer

_QUERIES_DIR = launcher.existing_path(
  'queries_dir', 'Output of bin.make_queries, in place of --questions.'
)
launcher.check_flags(
  lambda queries_dir, questions: bool(queries_dir) != bool(questions),
  'One of --queries_dir and --questions must be given.',
)


def main(_):
  job, inputs = model_flags.begin()
  if _QUERIES_DIR.value:
    examples = query_table.QueryTable.open(_QUERIES_DIR.value, verify=True)
  else:
    examples = question_flags.read()
  closed_book_trainer.run(inputs, examples, job)


if __name__ == '__main__':
  launcher.run(main, reads=launcher.ALL_FIELDS)
