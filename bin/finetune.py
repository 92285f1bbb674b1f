r"""Fine-tunes a pre-trained model on questions with answers.

python -m bin.finetune --config=launch/quickstart.py \
    --corpus_dir=runs/corpus --questions=runs/world/train_questions.jsonl \
    --run_dir=runs/qa --init_from=runs/realm \
    [--dev_questions=runs/world/dev_questions.jsonl]

--queries_dir, in place of --questions, makes questions of sentences, so that a
reader learns from unlabelled text: by templates with the objective per_block,
else by a blank for a name. With both, a fifth of the questions are such ones
(finetuning.sentence_share), so that the model keeps the words that only these
have. With --dev_questions, the run publishes the parameters with the best exact
match. Without, it publishes the last parameters.
"""

from . import corpus_flags
from . import launcher
from . import model_flags
from . import question_flags
from . import training_flags

from absl import flags

from realm_tf.config import names
from realm_tf.data import query_table
from realm_tf.exchange import import_cache
from realm_tf.qa import loading
from realm_tf.retrieval import retrievers
from realm_tf.retrieval import word_search
from realm_tf.training import finetuning
from realm_tf.training import sentence_questions

_RETRIEVER = flags.DEFINE_enum(
  'retriever',
  names.MODEL,
  [names.MODEL, *names.BY_LINKS, *names.BY_WORDS],
  'Search; graph and path follow links.',
)
_DEV_QUESTIONS = launcher.existing_path(
  'dev_questions', 'Questions for choosing the best parameters.'
)
_NUM_JUDGED = 1000  # Most questions of --dev_questions that are answered.
_READER_INIT_FROM = model_flags.define_reader_init_from()
_QUERIES_DIR = launcher.existing_path(
  'queries_dir',
  'Output of bin.make_queries, in place of --questions, or next to it.',
)
launcher.check_flags(
  lambda queries_dir, questions: queries_dir or questions,
  'One of --queries_dir and --questions must be given.',
)
launcher.check_flags(
  lambda retriever, init_from: retriever not in names.BY_LINKS or init_from,
  '--retriever=graph and --retriever=path need --init_from, their model.',
)


def _questions(inputs, retriever):
  """Returns the questions, and questions made of --queries_dir."""
  config = inputs.config.finetuning
  asked = question_flags.read(keep_impossible=config.null_spans)
  if not _QUERIES_DIR.value:
    return asked
  queries = query_table.QueryTable.open(_QUERIES_DIR.value, verify=True)
  queries.fit_corpus(inputs.table)
  search = None  # By templates with per_block: a sentence must be in a block.
  if config.objective != 'per_block':
    is_bm25 = _RETRIEVER.value == names.BM25
    search = retriever if is_bm25 else word_search.over_table(inputs.table)
  return asked + sentence_questions.from_sentences(
    queries, inputs, search, len(asked)
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
  job, inputs = model_flags.begin(
    _READER_INIT_FROM.value, import_cache.model_dir
  )
  retriever, validator = _retriever(inputs), None
  questions = _questions(inputs, retriever)
  if _DEV_QUESTIONS.value:
    validator = loading.Validator(
      question_flags.read(_DEV_QUESTIONS.value)[:_NUM_JUDGED],
      inputs.table,
      inputs.tokenizer,
      inputs.config,
      retriever,
    )
  finetuning.run(
    inputs, questions, job, retriever=retriever, exact_match=validator
  )


if __name__ == '__main__':
  launcher.run(main, reads=launcher.ALL_FIELDS)
