r"""Measures a model or BM25 on questions, masked sentences, or both.

  python -m bin.evaluate --model_dir=runs/qa --corpus_dir=runs/corpus \
      --questions=test.jsonl --output_dir=runs/qa/test

Writes metrics.json (percent) and predictions.jsonl; a model without a reader
gets only recall. With --retriever=bm25 the model reads BM25's blocks; with
--retriever=none a model of bin.train_closed_book reads none. Several
--questions and --sparse_weight each get a folder, OUTPUT_DIR/sparse_0.5/test.
Above the folders, metrics.json tells of all --questions together how well
`probability` separates right answers from wrong ones and from questions with
`is_impossible`; risk_coverage.jsonl is its curve. bin.results_table compares
systems.
"""

import json
import os

from . import answer_flags
from . import corpus_flags
from . import launcher
from . import path_flags
from . import question_flags
from . import sentence_flags

from absl import flags

from realm_tf.config import names
from realm_tf.data import article_lookup
from realm_tf.qa import open_qa
from realm_tf.qa import rankings
from realm_tf.qa import summary
from realm_tf.run import outputs

_OUTPUT_DIR = path_flags.new('output_dir', 'Directory to write.')
_RECALL_AT = flags.DEFINE_list(
  'recall_at', ['1', '5', '20', '100'], 'Values of k for recall@k, in blocks.'
)
_RETRIEVER = corpus_flags.define_retriever(names.NOTHING)
_QRELS = path_flags.existing(
  'qrels', 'TREC or BEIR judgements of articles: R@k, MRR@10 and nDCG@10.'
)
_TREC_RUN = flags.DEFINE_string(
  'trec_run', None, 'File for ranked articles, in the format of trec_eval.'
)
answer_flags.define_searches()
launcher.check_flags(
  lambda questions, sparse_weight, qrels, trec_run: (
    len(questions or []) == len(sparse_weight) == 1 or not (qrels or trec_run)
  ),
  '--qrels and --trec_run need one --questions and one --sparse_weight.',
)
launcher.check_flags(
  lambda questions, queries_dir: questions or queries_dir,
  '--questions or --queries_dir must be given.',
)
launcher.check_flags(
  lambda recall_at: (
    recall_at and all(k.isdigit() and int(k) for k in recall_at)
  ),
  '--recall_at must be comma-separated positive numbers, like 1,5,20.',
)


def _questions(table):
  asked = question_flags.read_each(may_lack_answers=bool(_QRELS.value))
  if _RETRIEVER.value != names.NOTHING:
    every = [each for group in asked.values() for each in group]
    gold = [each.gold_id for each in every if not each.is_impossible]
    article_lookup.check(gold, table, "Questions' gold_id")
  return asked


def main(_):
  outputs.check_directory(_OUTPUT_DIR.value)
  qrels, trec_run = _QRELS.value, _TREC_RUN.value
  if trec_run:
    outputs.check_file(trec_run)
  weights, seed = flags.FLAGS.sparse_weight, flags.FLAGS.seed
  answerers = answer_flags.load(weights) if answer_flags.MODEL_DIR.value else []
  table = answerers[0].table if answerers else corpus_flags.open_table()
  asked = _questions(table)
  recall_at, articles = [int(k) for k in _RECALL_AT.value], None
  if qrels or trec_run:
    (questions,) = asked.values()
    articles = rankings.Articles(qrels, trec_run, questions, table, recall_at)
  systems = open_qa.systems(_RETRIEVER.value, table, answerers, seed)
  size = asked and open_qa.costs(
    _RETRIEVER.value,
    corpus_flags.CORPUS_DIR.value,
    model_dir=answer_flags.MODEL_DIR.value,
    reader_dir=answer_flags.READER_DIR.value,
    index_dir=answer_flags.INDEX_DIR.value,
  )
  by_words = _RETRIEVER.value in names.BY_WORDS
  for system, weight in zip(systems, weights, strict=True):
    sentences = {}
    if sentence_flags.QUERIES_DIR.value:
      sentences = sentence_flags.measure(
        system.retriever,
        table,
        lengths=None if by_words else answerers[0].lengths,
        recall_at=recall_at,
      )
    evaluated: dict[str, str] = {}
    for name, questions in (asked or {'': []}).items():
      folders = [f'sparse_{weight:g}'] if len(weights) > 1 else []
      folders += [name] if len(asked) > 1 else []
      output_dir = os.path.join(_OUTPUT_DIR.value, *folders)
      metrics = dict(sentences)
      if questions:
        metrics |= system.run(questions, recall_at, output_dir, articles)
        metrics |= size
        if metrics['categories']:
          print(summary.category_table(metrics['categories']))
      print(json.dumps(open_qa.write_metrics(metrics, output_dir)))
      if 'answered' in metrics:
        evaluated[name] = output_dir
    if len(evaluated) > 1:
      open_qa.write_together(evaluated, os.path.dirname(output_dir))


if __name__ == '__main__':
  launcher.run(main, reads=sentence_flags.read_fields)
