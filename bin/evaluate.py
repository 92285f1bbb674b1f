r"""Measures a model, or BM25, on questions, on masked sentences, or on both.

  python -m bin.evaluate --model_dir=runs/qa --corpus_dir=runs/corpus \
      --questions=test.jsonl --output_dir=runs/qa/test

Writes metrics.json (percent) and predictions.jsonl; without a reader, recall
only. With --retriever=bm25 the model reads BM25's blocks and sees its scores.
--retriever=graph, path and bm25_graph also follow the links of the corpus; none
looks nothing up, with a model of bin.train_closed_book.
--compare=runs/other/test, another run's --output_dir, writes the questions that
only one of the two answers. --queries_dir needs no question: it measures how
often a block has the masked span of a sentence.
"""

import json

from . import corpus_flags
from . import field_flags
from . import launcher
from . import question_flags
from . import reader_flags
from . import reading_flags
from . import retriever_flags
from . import sentence_flags

from absl import flags

from realm_tf.evaluation import categories
from realm_tf.evaluation import comparison
from realm_tf.evaluation import open_qa
from realm_tf.evaluation import system_size
from realm_tf.retrieval import retrievers

_MODEL_DIR = flags.DEFINE_string(
  'model_dir', None, 'Model or run directory; optional with bm25 or tfidf.'
)
_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', None, 'Directory to write.', required=True
)
_RECALL_AT = flags.DEFINE_list(
  'recall_at', ['1', '5', '20', '100'], 'Each k of recall@k, in blocks.'
)
_RETRIEVER = retriever_flags.define(
  *retrievers.BY_LINKS, *retrievers.BY_WORDS, retrievers.NOTHING
)
_COMPARE = flags.DEFINE_string(
  'compare', None, '--output_dir of another run on the same questions.'
)

field_flags.need_questions()
flags.register_multi_flags_validator(
  ['questions', 'queries_dir'],
  lambda given: given['questions'] or given['queries_dir'],
  '--questions or --queries_dir must be given.',
)
flags.register_validator(
  'recall_at',
  lambda ks: ks and all(k.isdigit() and int(k) for k in ks),
  'must be positive numbers with commas between them, like 1,5,20.',
)
flags.register_multi_flags_validator(
  ['model_dir', 'reader_dir'],
  lambda given: given['model_dir'] or not given['reader_dir'],
  '--reader_dir needs a --model_dir, which it shares the vocabulary with.',
)
retriever_flags.check_together()


def _on_questions(answerer, table, recall_at):
  questions = question_flags.read_to_evaluate(field_flags.has_qrels(), table)
  other = _COMPARE.value and comparison.Other(_COMPARE.value, questions)
  judge = field_flags.judge(questions, table, recall_at)
  system = open_qa.system(_RETRIEVER.value, table, answerer, flags.FLAGS.seed)
  metrics = system.run(questions, recall_at, _OUTPUT_DIR.value, other, judge)
  dirs = corpus_flags.CORPUS_DIR, _MODEL_DIR, reader_flags.READER_DIR
  sizes = *(flag.value for flag in dirs), reader_flags.INDEX_DIR.value
  metrics |= system_size.measure(_RETRIEVER.value, *sizes)
  print(categories.table(metrics['categories']))
  if other:
    print(comparison.as_text(metrics['comparison']))
  return metrics


def main(_):
  field_flags.check_outputs(_OUTPUT_DIR.value)
  model_dir, retriever = _MODEL_DIR.value, _RETRIEVER.value
  answerer = model_dir and reading_flags.load(model_dir, retriever)
  table = answerer.table if answerer else corpus_flags.open_table()
  recall_at, metrics = [int(k) for k in _RECALL_AT.value], {}
  if sentence_flags.QUERIES_DIR.value:
    metrics = sentence_flags.measure(table, answerer, retriever, recall_at)
  if question_flags.are_given():
    metrics |= _on_questions(answerer, table, recall_at)
  open_qa.write_metrics(metrics, _OUTPUT_DIR.value)
  print(json.dumps(metrics))


if __name__ == '__main__':
  launcher.run(main)
