"""Answers from an encoder-decoder's memory alone, without retrieval."""

from collections.abc import Sequence
import math
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.data import block_table
from realm_tf.data import sampling
from realm_tf.index import model_files
from realm_tf.model import realm_model
from realm_tf.model import seq2seq
from realm_tf.qa import answer as answer_lib
from realm_tf.retrieval import retriever
from realm_tf.text import sentencepieces
from realm_tf.text import wordpiece

_BATCH_SIZE = 64


class ClosedBook:
  """Answers by greedy decoding."""

  def __init__(
    self,
    model: realm_model.RealmModel,
    tokenizer: wordpiece.WordpieceTokenizer
    | sentencepieces.SentencepieceTokenizer,
    config: config_lib.ClosedBookConfig,
    table: block_table.BlockTable,
  ):
    self.table = table
    self._tokenizer = tokenizer
    self._length = config.input_tokens
    _, self._end_id = tokenizer.special_ids

    @tf.function(
      input_signature=[
        tf.TensorSpec([_BATCH_SIZE, config.input_tokens], tf.int32)
      ]
    )
    def write(ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
      found = model.seq2seq.greedy(ids, config.answer_tokens, self._end_id)
      return found, model.seq2seq.log_likelihood(ids, found)

    self._write = write

  def answer(self, questions: Sequence[str]) -> list[answer_lib.Answer]:
    """Answers questions without evidence; `score` is log p(y|x)."""
    ids = sampling.end_rows(
      self._tokenizer.token_ids_batch(list(questions)),
      self._length,
      self._end_id,
    )
    answers = []
    for start in range(0, len(ids), _BATCH_SIZE):
      some = ids[start : start + _BATCH_SIZE]
      padded = np.pad(some, [(0, _BATCH_SIZE - len(some)), (0, 0)])
      found, scores = (each.numpy() for each in self._write(padded))
      for row, own, score in zip(range(start, len(ids)), found, scores):
        kept = own[(own != seq2seq.PAD_ID) & (own != self._end_id)]
        text = self._tokenizer.detokenize(kept)
        probability = math.exp(min(0.0, score))
        answers.append(
          answer_lib.Answer(questions[row], text, float(score), [], probability)
        )
    return answers

  def read(
    self, queries: retriever.Queries, retrieved: Any
  ) -> list[answer_lib.Answer]:
    """Answers queries; nothing was retrieved."""
    del retrieved
    return self.answer(queries.texts)


def load(model_dir: str, corpus_dir: str) -> ClosedBook:
  """Opens a model directory of bin.train_closed_book.

  Raises UserError for another kind of model, or another vocabulary than the
  corpus.
  """
  table = block_table.BlockTable.open(corpus_dir)
  opened = model_files.open_model(model_dir, [realm_model.SEQ2SEQ], table=table)
  config = opened.config.closed_book
  return ClosedBook(opened.model, opened.tokenizer, config, table)
