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

import dataclasses
import itertools
import json
import os

from . import answer_flags
from . import config_flags
from . import corpus_flags
from . import launcher
from . import question_flags

from absl import flags

from realm_tf.config import names
from realm_tf.data import block_table
from realm_tf.qa import masked_sentences
from realm_tf.qa import open_qa
from realm_tf.qa import rankings
from realm_tf.qa import summary
from realm_tf.run import run_lock

_OUTPUT_DIR = launcher.new_path('output_dir', 'Directory to write.')
_RECALL_AT = flags.DEFINE_list(
  'recall_at', ['1', '5', '20', '100'], 'Values of k for recall@k, in blocks.'
)
_QRELS = launcher.existing_path(
  'qrels', 'TREC or BEIR judgements of articles: R@k, MRR@10 and nDCG@10.'
)
_TREC_RUN = launcher.new_path(
  'trec_run',
  'File for ranked articles, in the format of trec_eval.',
  required=False,
  is_file=True,
)
_QUERIES_DIR = launcher.existing_path(
  'queries_dir',
  'Queries of bin.make_queries: how often the first blocks have the masked '
  "span; a sentence's own block does not count.",
)
_HELD_OUT_SHARE = flags.DEFINE_float(
  'held_out_share',
  0.0,
  "Share of articles to measure, training's held_out.share; 0 is all.",
  0.0,
  1.0,
)
answer_flags.define_search(names.NOTHING, may_lack_model=True)
launcher.check_flags(
  lambda model_dir, retriever: model_dir or retriever in names.BY_WORDS,
  '--model_dir must be given, unless --retriever is a search by words.',
)
launcher.check_flags(
  lambda retriever, sparse_weight: (
    retriever == names.MODEL or not any(sparse_weight)
  ),
  '--sparse_weight must go with --retriever=model.',
)
launcher.check_flags(
  lambda queries_dir, retriever: not queries_dir or retriever != names.NOTHING,
  '--queries_dir measures a search: leave out --retriever=none.',
)
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


def _fields_read():
  """Returns prefixes of the config's fields that mask the sentences, if any."""
  if not _QUERIES_DIR.value:
    return ()
  # A model has its own lengths.
  by_words = flags.FLAGS.retriever in names.BY_WORDS
  return 'pretraining.masking=', *(['lengths.'] if by_words else [])


def _measure_sentences(system, table, answerers, recall_at):
  config = config_flags.config()
  if flags.FLAGS.retriever not in names.BY_WORDS:
    config = dataclasses.replace(config, lengths=answerers[0].lengths)
  return masked_sentences.span_recall(
    _QUERIES_DIR.value,
    table,
    corpus_flags.tokenizer(),
    retriever=system.retriever,
    config=config,
    share=_HELD_OUT_SHARE.value,
    recall_at=recall_at,
    seed=flags.FLAGS.seed,
  )


def main(_):
  qrels, trec_run = _QRELS.value, _TREC_RUN.value
  retriever, weights = flags.FLAGS.retriever, flags.FLAGS.sparse_weight
  model_dir, corpus_dir = flags.FLAGS.model_dir, flags.FLAGS.corpus_dir
  answerers = answer_flags.load(corpus_dir, weights) if model_dir else []
  table = answerers[0].table if answerers else corpus_flags.open_table()
  asked = question_flags.read_each(may_lack_answers=bool(qrels))
  if retriever != names.NOTHING:
    every = itertools.chain(*asked.values())
    gold = [each.gold_id for each in every if not each.is_impossible]
    block_table.check_article_ids(gold, table, "Questions' gold_id")
  recall_at, articles = [int(k) for k in _RECALL_AT.value], None
  if qrels or trec_run:
    (questions,) = asked.values()
    articles = rankings.Articles(qrels, trec_run, questions, table, recall_at)
  size = asked and open_qa.costs(
    retriever,
    corpus_dir,
    model_dir=model_dir,
    reader_dir=answer_flags.choices().reader_dir,
    index_dir=flags.FLAGS.index_dir,
  )
  systems = open_qa.systems(retriever, table, answerers, flags.FLAGS.seed)
  run_lock.hold(_OUTPUT_DIR.value, 'evaluation')
  open_qa.forget(_OUTPUT_DIR.value)
  for system, weight in zip(systems, weights, strict=True):
    folder, together = _OUTPUT_DIR.value, {}
    if len(weights) > 1:
      folder = os.path.join(folder, f'sparse_{weight:g}')
    open_qa.forget(folder)
    sentences = {}
    if _QUERIES_DIR.value:
      sentences = _measure_sentences(system, table, answerers, recall_at)
    for name, questions in (asked or {'': []}).items():
      output_dir = os.path.join(folder, name) if len(asked) > 1 else folder
      open_qa.forget(output_dir)
      metrics = dict(sentences)
      if questions:
        metrics |= system.run(questions, recall_at, output_dir, articles)
        metrics |= size
        if metrics['categories']:
          print(summary.category_table(metrics['categories']))
      print(json.dumps(open_qa.write_metrics(metrics, output_dir)))
      if 'answered' in metrics:
        together[name] = output_dir
    if len(together) > 1:
      open_qa.write_together(together, folder)


if __name__ == '__main__':
  launcher.run(main, reads=_fields_read)
