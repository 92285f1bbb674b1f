"""Trains path retrieval: batches of paths, and the step's loss.

A path is a seed block, or a seed and a block that the seed links to.
Embed_input and the path scorer learn from all paths that end at an answer.
"""

from collections.abc import Callable, Iterator
from typing import TypedDict

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.index import searcher as searcher_lib
from realm_tf.modeling import path_scorer
from realm_tf.modeling import realm_model
from realm_tf.objectives import span_likelihood
from realm_tf.records import joining
from realm_tf.records import sampling
from realm_tf.retrieval import linked_blocks
from realm_tf.retrieval import retriever
from realm_tf.training import answer_labels
from realm_tf.training import step_trainer

_QUESTION_WIDTH = 32  # Batches are trimmed to multiples of it.
# Seeds found by words: at first, embeddings find too few articles with links to
# the answer.
_NUM_BY_WORDS = 4


class Batch(TypedDict):
  """Questions of a step, F seeds of each, and M linked blocks of each seed."""

  question_ids: np.ndarray | tf.Tensor  # Wordpieces, int32 [B, Lq].
  block_embeddings: np.ndarray | tf.Tensor  # float32 [B, F, 1 + M, D].
  # Paths that end at an answer, and paths that count, bool [B, F, 1 + M].
  has_answer: np.ndarray | tf.Tensor
  is_compared: np.ndarray | tf.Tensor


def batches(
  labels: answer_labels.AnswerLabels,
  embed: Callable[[np.ndarray], np.ndarray],
  searcher: searcher_lib.Searcher,
  *,
  words: retriever.Retriever,
  paths: linked_blocks.Paths,
  experiment: config_lib.ExperimentConfig,
  share: sampling.Share = sampling.WHOLE,
) -> Iterator[Batch]:
  """Yields endless batches.

  Args:
    embed: Embeds wordpieces with the current parameters.
    searcher: Finds seeds by their embeddings.
    words: Finds further seeds; searches once for each question.
  """
  words = retriever.Kept(words)
  words.retrieve(labels.questions.queries(), _NUM_BY_WORDS)  # All at once.
  config = experiment.path
  sampler = sampling.Sampler(
    len(labels.questions.ids), config.batch_size, experiment.seed
  )
  step = share.first_step
  while True:
    rows = sampler.rows(step)[share.rows(config.batch_size)]
    question_ids = share.trim(labels.questions.ids[rows], _QUESTION_WIDTH)
    queries = embed(question_ids)
    by_words = words.retrieve(labels.questions.queries(rows), _NUM_BY_WORDS)
    found = searcher.search(
      queries, linked_blocks.NUM_PATH_SEEDS - _NUM_BY_WORDS
    )
    seeds = _joined(found.block_ids, by_words.block_ids)
    blocks, vectors = paths.of(queries, seeds)  # [B, F, 1 + M], [..., D]
    has_answer, is_compared = (
      np.stack(
        [
          label(row, ids.ravel()).reshape(ids.shape)
          for row, ids in zip(rows, blocks)
        ]
      )
      for label in (labels.has_answer, labels.is_compared)
    )
    yield Batch(
      question_ids=question_ids,
      block_embeddings=vectors,
      has_answer=has_answer,
      is_compared=is_compared & (blocks >= 0),
    )
    step += 1


def _joined(seeds: np.ndarray, others: np.ndarray) -> np.ndarray:
  """Returns `others`, then `seeds`, [B, F]; -1 in place of a repeated block."""
  is_double = (seeds[:, :, None] == others[:, None]).any(axis=-1)
  return np.concatenate([others, np.where(is_double, -1, seeds)], axis=1)


class PathTrainer(step_trainer.StepTrainer[Batch]):
  """Maximizes log p(y|x), the log of the sum of p(path|x) over paths to y.

  Training needs no labeled paths: every path to a block with the answer counts.
  """

  def __init__(
    self,
    optimizer: tf_keras.optimizers.Optimizer,
    model: realm_model.RealmModel,
    special_ids: tuple[int, int],
  ):
    scorer: path_scorer.PathScorer = model.path_scorer
    variables = [
      *model.query_embedder.trainable_variables,
      *scorer.trainable_variables,
    ]
    if model.log_temperature is not None:
      variables.append(model.log_temperature)
    super().__init__(optimizer, model, variables)
    self._special_ids = special_ids

  def loss_and_logs(self, batch: Batch) -> step_trainer.LossAndLogs:
    queries = self.model.embed_queries(
      joining.pack_longest(batch['question_ids'], None, *self._special_ids),
      training=True,
    )  # [B, D]
    paths = self.model.path_scorer(
      queries, batch['block_embeddings'], batch['is_compared']
    )  # [B, F, 1 + M]
    flat = tf.reshape(paths, [tf.shape(paths)[0], -1])
    is_right = tf.reshape(batch['has_answer'], tf.shape(flat))
    likelihood = span_likelihood.early_update_log_likelihood(flat, is_right)
    best = tf.argmax(flat, axis=-1, output_type=tf.int32)
    found = tf.gather(is_right, best, batch_dims=1)
    has_any = tf.reduce_any(is_right, axis=-1)
    return -tf.reduce_mean(likelihood), {
      'path_log_likelihood': likelihood,
      'best_path_has_answer': 100.0 * tf.cast(found, tf.float32),
      'a_path_has_answer': 100.0 * tf.cast(has_any, tf.float32),
    }
