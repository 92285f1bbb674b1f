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

from . import config_flags
from . import corpus_flags
from . import launcher
from . import path_flags
from . import question_flags
from . import training_flags

from realm_tf.data import query_table
from realm_tf.training import closed_book_trainer
from realm_tf.training import job as job_lib

_RUN_DIR = path_flags.new('run_dir', 'New model directory to write.')
_QUERIES_DIR = question_flags.define_queries_dir()


def main(_):
  job = training_flags.job(_RUN_DIR.value)
  if _QUERIES_DIR.value:
    examples = query_table.QueryTable.open(_QUERIES_DIR.value, verify=True)
  else:
    examples = question_flags.read()
  inputs = job_lib.open_inputs(
    config_flags.config(), corpus_flags.CORPUS_DIR.value
  )
  closed_book_trainer.run(inputs, examples, job)


if __name__ == '__main__':
  launcher.run(main, reads=config_flags.ALL)
