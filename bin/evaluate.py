r"""Measures a model or BM25 on questions, masked sentences, or both.

  python -m bin.evaluate --model_dir=runs/qa --corpus_dir=runs/corpus \
      --questions=test.jsonl --output_dir=runs/qa/test

Writes metrics.json (percent) and predictions.jsonl; a model without a reader
gets only recall. With --retriever=bm25 the model reads BM25's blocks, with
their scores. --retriever=none: closed book, for a model of
bin.train_closed_book. --compare also writes the questions that only one of two
runs answers.
"""

import dataclasses
import json

from . import answer_flags
from . import corpus_flags
from . import launcher
from . import question_flags

from absl import flags

from realm_tf.corpus import beir
from realm_tf.evaluation import categories
from realm_tf.evaluation import comparison
from realm_tf.evaluation import field_judge
from realm_tf.evaluation import masked_sentences
from realm_tf.evaluation import open_qa
from realm_tf.evaluation import system_size
from realm_tf.records import article_lookup
from realm_tf.retrieval import retrievers
from realm_tf.rundir import outputs

_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', None, 'Directory to write.', required=True
)
_RECALL_AT = flags.DEFINE_list(
  'recall_at', ['1', '5', '20', '100'], 'Values of k for recall@k, in blocks.'
)
_RETRIEVER = corpus_flags.define_retriever(
  *retrievers.BY_LINKS, *retrievers.BY_WORDS, retrievers.NOTHING
)
_COMPARE = flags.DEFINE_string(
  'compare', None, '--output_dir of another run on the same questions.'
)
_FIELD_FILES = [
  flags.DEFINE_string(name, None, text)
  for name, text in (
    ('qrels', 'TREC or BEIR judgements of articles: R@k, MRR@10 and nDCG@10.'),
    ('trec_run', 'File for ranked articles, in the format of trec_eval.'),
    ('dpr_json', 'File for retrieved blocks, in the format of DPR and FiD.'),
    ('kilt', "File for answers and their articles, in KILT's format."),
  )
]
_QUERIES_DIR = flags.DEFINE_string(
  'queries_dir',
  None,
  'Queries, from bin.make_queries: measures how often the first blocks contain '
  "the sentence's masked span. The sentence's own block does not count.",
)
_HELD_OUT_SHARE = flags.DEFINE_float(
  'held_out_share',
  0.0,
  "Share of articles with measured sentences: training's held_out.share. "
  '0 measures all sentences.',
  0.0,
  1.0,
)
answer_flags.define_search()
answer_flags.check_retriever()
launcher.check_flags(
  lambda questions, qrels, trec_run, dpr_json, kilt: (
    questions or not (qrels or trec_run or dpr_json or kilt)
  ),
  '--qrels, --trec_run, --dpr_json and --kilt need --questions.',
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


def _on_questions(system, table, recall_at, paths):
  retriever = _RETRIEVER.value
  is_beir = question_flags.QUESTIONS.value.startswith(beir.PREFIX)
  questions = question_flags.read(may_lack_answers=paths.qrels or is_beir)
  if retriever != retrievers.NOTHING:
    gold = (question.gold_id for question in questions)
    article_lookup.check(gold, table, "Questions' gold_id")
  other = _COMPARE.value and comparison.Other(_COMPARE.value, questions)
  judge = None
  if any(paths):
    judge = field_judge.FieldJudge(
      paths, questions, table, recall_at=recall_at, seed=flags.FLAGS.seed
    )
  metrics = system.run(questions, recall_at, _OUTPUT_DIR.value, other, judge)
  metrics |= system_size.measure(
    retriever,
    corpus_flags.CORPUS_DIR.value,
    model_dir=answer_flags.MODEL_DIR.value,
    reader_dir=answer_flags.READER_DIR.value,
    index_dir=answer_flags.INDEX_DIR.value,
  )
  print(categories.table(metrics['categories']))
  if other:
    print(comparison.as_text(metrics['comparison']))
  return metrics


def main(_):
  outputs.check_directory(_OUTPUT_DIR.value)
  paths = field_judge.Paths(*(flag.value for flag in _FIELD_FILES))
  for path in paths.outputs():
    outputs.check_file(path)
  answerer = answer_flags.load() if answer_flags.MODEL_DIR.value else None
  table = answerer.table if answerer else corpus_flags.open_table()
  retriever, seed = _RETRIEVER.value, flags.FLAGS.seed
  system = open_qa.system(retriever, table, answerer, seed)
  recall_at, metrics = [int(k) for k in _RECALL_AT.value], {}
  if _QUERIES_DIR.value:
    config = launcher.config()
    if retriever not in retrievers.BY_WORDS:
      config = dataclasses.replace(config, lengths=answerer.lengths)
    metrics = masked_sentences.measure_directory(
      _QUERIES_DIR.value,
      table,
      corpus_flags.tokenizer(),
      retriever=system.retriever,
      config=config,
      share=_HELD_OUT_SHARE.value,
      recall_at=recall_at,
      seed=seed,
    )
  if question_flags.QUESTIONS.value:
    metrics |= _on_questions(system, table, recall_at, paths)
  open_qa.write_metrics(metrics, _OUTPUT_DIR.value)
  print(json.dumps(metrics))


if __name__ == '__main__':
  launcher.run(main)
