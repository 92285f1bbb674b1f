"""Exact match of a model in training, by which fine-tuning picks parameters."""

from collections.abc import Sequence
from typing import Optional

from realm_tf import config as config_lib
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import block_table
from realm_tf.index import storage
from realm_tf.model import realm_model
from realm_tf.qa import answerer as answerer_lib
from realm_tf.qa import loading
from realm_tf.qa import outcome as outcome_lib
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.text import wordpiece


class Validator:
  """Measures exact match like `bin.evaluate`, on at least one question.

  `retriever` replaces the model's own search.
  """

  def __init__(
    self,
    questions: Sequence[questions_lib.Question],
    table: block_table.BlockTable,
    tokenizer: wordpiece.WordpieceTokenizer,
    config: config_lib.ExperimentConfig,
    retriever: Optional[retriever_lib.Retriever] = None,
  ):
    self._questions = questions
    self._setting = table, tokenizer, config
    self._retriever = retriever
    self._index: Optional[storage.Index] = None
    self._answerer: Optional[answerer_lib.Answerer] = None

  def __call__(
    self, model: realm_model.RealmModel, index: storage.Index
  ) -> float:
    """Returns the exact match of the current parameters, in percent.

    The model must be the same object in every call.
    """
    answerer = self._answerer
    if answerer is None or index is not self._index:
      answerer = loading.over_model(model, index.searcher, *self._setting)
      self._index, self._answerer = index, answerer
    queries = answerer.queries([each.question for each in self._questions])
    retriever = self._retriever or answerer.retriever
    found = retriever.retrieve(queries, answerer.num_read)
    answers = answerer.read(queries, found, 1)
    predictions = [answer.prediction for answer in answers]
    exact = outcome_lib.quality(predictions, self._questions).exact
    return 100 * float(exact.mean())
