r"""Measures a model, or BM25, on a question set.

  python -m bin.evaluate --model_dir=runs/qa --corpus_dir=runs/corpus \
      --questions=test.jsonl --output_dir=runs/qa/test

Writes metrics.json (percent) and, if something reads, predictions.jsonl; there
is recall only without a reader. With --retriever=bm25 a model reads BM25's
blocks and sees its scores. --compare=runs/other/test names another run's
--output_dir: on which questions is just one of them right?
"""

import json

from bin import launcher
from bin import question_flags
from bin import reading_flags

from absl import flags

from realm_tf.evaluation import categories
from realm_tf.evaluation import comparison
from realm_tf.evaluation import open_qa
from realm_tf.retrieval import bm25
from realm_tf.text import answers

_MODEL_DIR = flags.DEFINE_string(
  'model_dir',
  None,
  'A model directory, or any run directory with '
  'parameters; may be left out with --retriever=bm25.',
)
_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', None, 'Where the files go.', required=True
)
_RECALL_AT = flags.DEFINE_list(
  'recall_at', ['1', '5', '20', '100'], 'Each k of recall@k, in blocks.'
)
_RETRIEVER = flags.DEFINE_enum(
  'retriever', 'model', ['model', 'bm25', 'none'], 'What finds the blocks.'
)
_COMPARE = flags.DEFINE_string(
  'compare', None, '--output_dir of a run on the same questions.'
)

flags.mark_flag_as_required('questions')
flags.register_validator(
  'recall_at',
  lambda ks: ks and all(k.isdigit() and int(k) for k in ks),
  'must be positive numbers with commas between them, like 1,5,20.',
)

flags.register_multi_flags_validator(
  ['model_dir', 'retriever'],
  lambda given: given['model_dir'] or given['retriever'] == 'bm25',
  '--model_dir must be given, unless --retriever=bm25.',
)
flags.register_multi_flags_validator(
  ['model_dir', 'reader_dir'],
  lambda given: given['model_dir'] or not given['reader_dir'],
  '--reader_dir needs a --model_dir, which it shares the vocabulary with.',
)
flags.register_multi_flags_validator(
  ['retriever', 'sparse_weight'],
  lambda given: given['retriever'] == 'model' or not given['sparse_weight'],
  '--sparse_weight adds BM25 to --retriever=model, and to nothing else.',
)


def _system():
  answerer = _MODEL_DIR.value and reading_flags.load(_MODEL_DIR.value)
  table = answerer.table if answerer else reading_flags.open_table()
  can_read = bool(answerer and answerer.reader)
  retrieve = {
    'bm25': lambda: bm25.over_table(table).retrieve_texts,
    'none': lambda: open_qa.find_nothing,
    'model': lambda: answerer.retrieve,
  }[_RETRIEVER.value]()
  return open_qa.OpenQa(
    answers.AnswerMatcher(table.texts),
    retrieve,
    answerer.read if can_read else None,
    answerer.num_compared if can_read else 0,
    read_article_ids=table.article_ids,
    seed=flags.FLAGS.seed,
  )


def main(_):
  questions = question_flags.read()
  other = _COMPARE.value and comparison.Other(_COMPARE.value, questions)
  recall_at = [int(k) for k in _RECALL_AT.value]
  metrics = _system().run(questions, recall_at, _OUTPUT_DIR.value, other)
  print(categories.table(metrics['categories']))
  if other:
    print(comparison.as_text(metrics['comparison']))
  print(json.dumps(metrics))


if __name__ == '__main__':
  launcher.run(main)
