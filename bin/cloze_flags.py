"""Defines --queries_dir: sentences that trainers take in place of questions."""

from . import question_flags

from absl import flags

from realm_tf.corpus import questions
from realm_tf.records import query_table
from realm_tf.retrieval import bm25
from realm_tf.training import runs
from realm_tf.training.finetuning import cloze_questions

QUERIES_DIR = flags.DEFINE_string(
  'queries_dir',
  None,
  'Sentences from bin.make_queries, with salient spans, in place of '
  '--questions.',
)
flags.register_multi_flags_validator(
  ['queries_dir', 'questions'],
  lambda given: bool(given['queries_dir']) != bool(given['questions']),
  'One of --queries_dir and --questions must be given.',
)


def read_or_make(inputs: runs.Inputs) -> list[questions.Question]:
  """Returns the questions, or makes them of sentences by a search with BM25."""
  if not QUERIES_DIR.value:
    return question_flags.read()
  queries = query_table.QueryTable.open(QUERIES_DIR.value, verify=True)
  queries.fit_corpus(inputs.table)
  words = bm25.over_table(inputs.table)
  return cloze_questions.from_sentences(queries, inputs, words)
