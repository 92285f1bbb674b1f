"""Puts together what is measured: a model, BM25, or a model on its blocks."""

from typing import Optional

from realm_tf.answering import answerer as answerer_lib
from realm_tf.evaluation import open_qa
from realm_tf.records import block_table
from realm_tf.retrieval import bm25
from realm_tf.text import answers


def of(
  retriever: str,
  table: block_table.BlockTable,
  answerer: Optional[answerer_lib.Answerer],
  seed: int,
) -> open_qa.OpenQa:
  """Returns a system for questions.

  Args:
    retriever: 'model', 'bm25' or 'none' (closed book).
    table: The corpus.
    answerer: Reads, if it has a reader; needed for 'model'.
    seed: Random seed of the confidence intervals.
  """
  can_read = bool(answerer and answerer.reader)
  retrieve = {
    'bm25': lambda: bm25.over_table(table).retrieve_texts,
    'none': lambda: open_qa.find_nothing,
    'model': lambda: answerer.retrieve,
  }[retriever]()
  return open_qa.OpenQa(
    answers.AnswerMatcher(table.texts),
    retrieve,
    answerer.read if can_read else None,
    answerer.num_compared if can_read else 0,
    read_article_ids=table.article_ids,
    seed=seed,
  )
