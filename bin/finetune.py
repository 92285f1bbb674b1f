r"""Fine-tunes a pre-trained model on questions with answers.

python -m bin.finetune --config=launch/quickstart.py \
    --corpus_dir=runs/corpus --questions=runs/world/train_questions.jsonl \
    --run_dir=runs/qa --init_from=runs/realm \
    [--dev_questions=runs/world/dev_questions.jsonl]

--queries_dir, in place of --questions, uses sentences with a blank for a name:
the reader learns to extract answers from unlabelled text. With both, a fifth of
the questions are such sentences (finetuning.sentence_share), so that the model
keeps the words that only these have. With --dev_questions,
the run publishes the parameters with the best exact match, and may end early
(`finetuning.patience`). Without, it publishes the last parameters.
"""

from . import config_flags
from . import corpus_flags
from . import launcher
from . import path_flags
from . import question_flags
from . import training_flags

from realm_tf.config import names
from realm_tf.data import query_table
from realm_tf.qa import loading
from realm_tf.qa import validation
from realm_tf.retrieval import bm25
from realm_tf.retrieval import retrievers
from realm_tf.training import cloze_questions
from realm_tf.training import finetuning_run
from realm_tf.training import job as job_lib

_RUN_DIR = path_flags.new('run_dir', 'New model directory to write.')
_RETRIEVER = corpus_flags.define_retriever()
_DEV_QUESTIONS = path_flags.existing(
  'dev_questions', 'Questions for choosing the best parameters.'
)
_NUM_JUDGED = 1000  # Most questions of --dev_questions that are answered.
_READER_INIT_FROM = training_flags.define_reader_init_from()
_QUERIES_DIR = question_flags.define_queries_dir(both=True)
launcher.check_flags(
  lambda retriever, init_from: retriever not in names.BY_LINKS or init_from,
  '--retriever=graph and --retriever=path need --init_from, their model.',
)


def _questions(inputs):
  """Returns the questions; BM25 makes questions of --queries_dir."""
  config = inputs.config.finetuning
  asked = question_flags.read(keep_impossible=config.null_spans)
  if not _QUERIES_DIR.value:
    return asked
  queries = query_table.QueryTable.open(_QUERIES_DIR.value, verify=True)
  queries.fit_corpus(inputs.table)
  words = bm25.over_table(inputs.table)
  return asked + cloze_questions.from_sentences(
    queries, inputs, words, len(asked)
  )


def _validator(inputs, retriever):
  """Returns the scorer of exact match; None without --dev_questions."""
  if _DEV_QUESTIONS.value is None:
    return None
  questions = question_flags.read(_DEV_QUESTIONS.value)
  return validation.Validator(
    questions[:_NUM_JUDGED],
    inputs.table,
    inputs.tokenizer,
    inputs.config,
    retriever,
  )


def _retriever(inputs):
  """Returns the retriever of --retriever; None for the trained model."""
  kind = _RETRIEVER.value
  if kind == names.MODEL:
    return None
  if kind in names.BY_WORDS:
    return retrievers.open(kind, inputs.table)
  return loading.load_answerer(
    training_flags.INIT_FROM.value,
    corpus_flags.CORPUS_DIR.value,
    choices=loading.Choices(retriever=kind),
  ).retriever


def main(_):
  job = training_flags.job(_RUN_DIR.value, _READER_INIT_FROM)
  inputs = job_lib.open_inputs(
    config_flags.config(), corpus_flags.CORPUS_DIR.value
  )
  questions = _questions(inputs)
  retriever = _retriever(inputs)
  finetuning_run.run(
    inputs,
    questions,
    job,
    retriever=retriever,
    exact_match=_validator(inputs, retriever),
  )


if __name__ == '__main__':
  launcher.run(main, reads=config_flags.ALL)
