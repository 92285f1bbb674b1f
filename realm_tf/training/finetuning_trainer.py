"""Trains open-domain QA: one step reads blocks and rewards answer spans.

A batch holds B questions, their N searched blocks, and the K blocks to read:

  question_ids: Wordpieces, int32 [B, Lq].
  block_embeddings: float32 [B, N, D], for trained scores; or else
  fixed_scores: float32 [B, N].
  has_answer: Positive blocks, bool [B, N].
  is_compared: Positives and negatives, bool [B, N]. Padding and blocks with an
    unknown label are neither, and stay out of the sums over blocks and spans.
  read_rows: Places of the K in the N, int32 [B, K].
  title_ids, body_ids: Wordpieces, int32 [B, K, Lt] and [B, K, Lz].
  is_answer: Whether the span of w + 1 wordpieces from s on is an answer, bool
    [B, K, Lz, W].
  is_impossible: bool [B]; only with `null_spans`.
"""

from collections.abc import Iterator, Sequence
import itertools
from typing import Optional

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf import interfaces
from realm_tf.data import joining
from realm_tf.data import sampling
from realm_tf.model import objectives
from realm_tf.model import realm_model
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.training import answer_labels
from realm_tf.training import step_trainer

# Batches are trimmed to multiples of these: each shape is compiled.
_QUESTION_WIDTH, _BODY_WIDTH = 32, 64


def batches(
  labels: answer_labels.AnswerLabels,
  retriever: interfaces.Retriever,
  embeddings: Optional[np.ndarray],
  *,
  experiment: config_lib.ExperimentConfig,
  share: sampling.Share = sampling.WHOLE,
) -> Iterator[dict[str, np.ndarray]]:
  """Yields endless batches.

  Args:
    embeddings: Embeddings of all blocks, float [., D]. None: the scores of
      `retriever` become `fixed_scores`.
  """
  config = experiment.finetuning
  questions = labels.questions
  number, seed = len(questions.ids), experiment.seed
  sampler = sampling.Sampler(number, config.batch_size, seed)
  if config.bucket_batches > 1:
    gold = map(labels.gold, range(number))
    lengths = [labels.table.lengths(ids)[1].max(initial=0) for ids in gold]
    sampler = sampling.BucketSampler(
      sampler, np.array(lengths), config.bucket_batches, seed
    )
  longest = int(labels.table.lengths()[1].max(initial=1))
  for step in itertools.count(share.first_step):
    rows = sampler.rows(step)[share.rows(config.batch_size)]
    question_ids = share.trim(questions.ids[rows], _QUESTION_WIDTH)
    found = retriever.retrieve(
      retriever_lib.of_texts(questions.texts(rows), question_ids),
      config.num_searched,
    )
    found = _with_gold(found, [labels.gold(row) for row in rows])
    batch = _labels(
      labels, rows, found.block_ids, experiment, share, longest=longest
    )
    batch['question_ids'] = question_ids
    if config.null_spans:
      impossible = [questions.given[row].is_impossible for row in rows]
      batch['is_impossible'] = np.array(impossible)
    if embeddings is None:
      fixed = np.where(found.block_ids >= 0, found.scores, 0)
      batch['fixed_scores'] = fixed.astype(np.float32)
    else:
      blocks = np.maximum(found.block_ids, 0)
      vectors = np.asarray(embeddings[blocks.ravel()], np.float32)
      batch['block_embeddings'] = vectors.reshape([*blocks.shape, -1])
    yield batch


def _with_gold(
  found: interfaces.Neighbors, gold: Sequence[np.ndarray]
) -> interfaces.Neighbors:
  """Replaces the last block by a gold block, in rows of `found` without one."""
  block_ids, scores = found.block_ids.copy(), found.scores.copy()
  for i, ids in enumerate(gold):
    if ids.size and not np.isin(block_ids[i], ids).any():
      # With fixed scores, the block gets the row's lowest score.
      block_ids[i, -1] = ids[0]
      if not np.isfinite(scores[i, -1]):
        scores[i, -1] = np.min(
          scores[i], where=np.isfinite(scores[i]), initial=0
        )
  return interfaces.Neighbors(block_ids, scores)


def _labels(
  labels: answer_labels.AnswerLabels,
  rows: np.ndarray,
  block_ids: np.ndarray,
  experiment: config_lib.ExperimentConfig,
  share: sampling.Share,
  *,
  longest: int,
) -> dict[str, np.ndarray]:
  """Returns the fields of labels, and of the blocks to read.

  `longest` is the number of wordpieces of the corpus's longest block.
  """
  config, max_width = experiment.finetuning, experiment.model.max_span_width
  num_read = config.num_read
  has_answer, is_compared = (
    np.stack([label(row, ids) for row, ids in zip(rows, block_ids)])
    for label in (labels.has_answer, labels.is_compared)
  )
  read_rows = np.tile(np.arange(num_read, dtype=np.int32), [len(rows), 1])
  if config.read_answer_block or config.supervision == 'gold':
    for i, answer in enumerate(has_answer):
      if not answer[:num_read].any():
        # The first block with the answer, or no change without such a block.
        read_rows[i, -1] = np.argmax(answer) or num_read - 1
  read_ids = np.take_along_axis(block_ids, read_rows, axis=1)
  titles, bodies = labels.table.gather(
    read_ids, experiment.lengths.title_tokens, min(longest, config.joint_tokens)
  )
  bodies = share.trim(bodies, _BODY_WIDTH)  # [B, K, Lz]
  is_answer = np.stack(
    [
      labels.spans(row, read_ids[i], bodies[i], max_width=max_width)
      for i, row in enumerate(rows)
    ]
  )
  # A block that is no positive has no answers, even if it holds their text.
  teaches = np.take_along_axis(has_answer, read_rows, axis=1)
  return {
    'has_answer': has_answer,
    'is_compared': is_compared & (block_ids >= 0),
    'read_rows': read_rows,
    'title_ids': titles,
    'body_ids': bodies,
    'is_answer': is_answer & teaches[:, :, None, None],
  }


class FinetuningTrainer(step_trainer.StepTrainer):
  """Maximizes the answers' span likelihood plus the early-update likelihood.

  Section 3.2 of Guu et al. 2020 with ORQA's losses; a term without a positive
  is zero. `null_spans` adds null spans to the softmax over spans. Blocks
  have the index's embeddings. An Embed_doc that is not frozen embeds the K
  blocks to read again, and learns from them. The model must have the EMBEDDER
  and SPAN parts.
  """

  def __init__(
    self,
    optimizer: tf_keras.optimizers.Optimizer,
    model: realm_model.RealmModel,
    config: config_lib.ExperimentConfig,
    *,
    special_ids: tuple[int, int],
  ):
    super().__init__(
      optimizer,
      model,
      _trained(model, config.finetuning),
      jit_compile=config.finetuning.jit_compile and model.prefers_xla,
    )
    self._config = config.finetuning
    self._special_ids = special_ids

  def loss_and_logs(
    self, batch: dict[str, tf.Tensor]
  ) -> step_trainer.LossAndLogs:
    scores = self._retrieval_scores(batch)  # [B, N]
    is_hard = self._config.objective == 'hard_em'
    early = objectives.positive_log_likelihood(
      scores, batch['has_answer'], is_hard
    )
    body_length = batch['body_ids'].shape[2]
    joint = joining.pack_pairs(
      batch['question_ids'],
      batch['body_ids'],
      *self._special_ids,
      self._config.joint_tokens,
      batch['title_ids'] if self._config.read_titles else None,
    )
    spans, null = self.model.span_reader(joint, body_length, training=True)
    read_scores = tf.gather(scores, batch['read_rows'], batch_dims=1)
    each = tf.reshape(spans, [*tf.unstack(tf.shape(spans))[:2], -1])
    flat = tf.reshape(
      each + read_scores[:, :, None], [tf.shape(spans)[0], -1]
    )  # [B, S]
    is_answer = tf.reshape(batch['is_answer'], tf.shape(flat))
    answerable = tf.reduce_any(is_answer, axis=-1)
    if self._config.null_spans:
      flat, is_answer = objectives.with_null_spans(
        flat, null + read_scores, is_answer, batch['is_impossible']
      )
    if self._config.objective == 'per_block':
      reading = objectives.per_block_log_likelihood(
        each,
        null,
        tf.reshape(batch['is_answer'], tf.shape(each)),
        tf.gather(batch['is_compared'], batch['read_rows'], batch_dims=1),
      )
    else:
      reading = objectives.positive_log_likelihood(flat, is_answer, is_hard)
    best = tf.argmax(flat, axis=-1, output_type=tf.int32)
    correct = tf.gather(is_answer, best, batch_dims=1)
    return -tf.reduce_mean(early + reading), {
      'early_update_log_likelihood': early,
      'span_log_likelihood': reading,
      'exact_match': 100.0 * tf.cast(correct, tf.float32),
      'answer_in_read_blocks': 100.0 * tf.cast(answerable, tf.float32),
      'answer_in_searched_blocks': 100.0
      * tf.cast(tf.reduce_any(batch['has_answer'], axis=-1), tf.float32),
    }

  def _retrieval_scores(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
    """Returns f(x,z), float32 [B, N]; NO_SCORE without `is_compared`."""
    if 'fixed_scores' in batch:
      return tf.where(
        batch['is_compared'], batch['fixed_scores'], interfaces.NO_SCORE
      )
    queries = self.model.embed_queries(
      joining.pack_longest(batch['question_ids'], None, *self._special_ids),
      training=not self._config.freeze_query_tower,
    )  # [B, D]
    scores = tf.einsum('bd,bnd->bn', queries, batch['block_embeddings'])
    return tf.where(batch['is_compared'], scores, interfaces.NO_SCORE)


def _trained(
  model: realm_model.RealmModel, config: config_lib.FinetuningConfig
) -> list[tf.Variable]:
  variables = [*model.span_reader.trainable_variables]
  if not config.freeze_query_tower:
    variables = [*model.query_embedder.trainable_variables, *variables]
    if model.log_temperature is not None:
      variables.append(model.log_temperature)
  return variables
