"""Batches of QA: questions, their searched blocks, and the answers in them."""

from collections.abc import Iterator, Sequence
import itertools
from typing import Optional, TypedDict

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.data import sampling
from realm_tf.index import searcher as searcher_lib
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.training import answer_labels

# Batches are trimmed to multiples of these: each shape is compiled.
_QUESTION_WIDTH, _BODY_WIDTH = 32, 64


class Batch(TypedDict, total=False):
  """Questions of a step, their N searched blocks, and the K blocks to read."""

  question_ids: np.ndarray | tf.Tensor  # Wordpieces, int32 [B, Lq].
  block_embeddings: np.ndarray | tf.Tensor  # float32 [B, N, D]; trained scores.
  fixed_scores: np.ndarray | tf.Tensor  # float32 [B, N]; untrained scores.
  has_answer: np.ndarray | tf.Tensor  # Positive blocks, bool [B, N].
  # Positives and negatives, bool [B, N]. Padding and blocks with an unknown
  # label are neither, and stay out of the sums over blocks and spans.
  is_compared: np.ndarray | tf.Tensor
  read_rows: np.ndarray | tf.Tensor  # Places of the K in the N, int32 [B, K].
  title_ids: np.ndarray | tf.Tensor  # int32 [B, K, Lt].
  body_ids: np.ndarray | tf.Tensor  # int32 [B, K, Lz].
  # Whether the span of w + 1 wordpieces from s on is an answer.
  is_answer: np.ndarray | tf.Tensor  # bool [B, K, Lz, W].
  is_impossible: np.ndarray | tf.Tensor  # bool [B]; only with `null_spans`.


def batches(
  labels: answer_labels.AnswerLabels,
  retriever: retriever_lib.Retriever,
  embeddings: Optional[np.ndarray],
  *,
  experiment: config_lib.ExperimentConfig,
  share: sampling.Share = sampling.WHOLE,
) -> Iterator[Batch]:
  """Yields endless batches.

  Args:
    embeddings: Embeddings of all blocks, float [., D]. None: the scores of
      `retriever` become `fixed_scores`.
  """
  config = experiment.finetuning
  questions = labels.questions
  sampler = _sampler(labels, config, experiment.seed)
  longest = int(labels.table.lengths()[1].max(initial=1))
  for step in itertools.count(share.first_step):
    rows = sampler.rows(step)[share.rows(config.batch_size)]
    question_ids = share.trim(questions.ids[rows], _QUESTION_WIDTH)
    found = retriever.retrieve(
      retriever_lib.of_texts(questions.texts(rows), question_ids),
      config.num_searched,
    )
    found = _with_gold(found, [labels.gold(row) for row in rows])
    impossible = [questions.given[row].is_impossible for row in rows]
    yield {
      'question_ids': question_ids,
      **({'is_impossible': np.array(impossible)} if config.null_spans else {}),
      **_scoring(found, embeddings),
      **_labels(
        labels, rows, found.block_ids, experiment, share, longest=longest
      ),
    }


def _sampler(
  labels: answer_labels.AnswerLabels,
  config: config_lib.FinetuningConfig,
  seed: int,
) -> sampling.Sampler | sampling.BucketSampler:
  num_questions = len(labels.questions.ids)
  sampler = sampling.Sampler(num_questions, config.batch_size, seed)
  if config.bucket_batches == 1:
    return sampler
  lengths = [
    labels.table.lengths(labels.gold(row))[1].max(initial=0)
    for row in range(num_questions)
  ]
  return sampling.BucketSampler(
    sampler, np.array(lengths), config.bucket_batches, seed
  )


def _with_gold(
  found: searcher_lib.Neighbors, gold: Sequence[np.ndarray]
) -> searcher_lib.Neighbors:
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
  return searcher_lib.Neighbors(block_ids, scores)


def _scoring(
  found: searcher_lib.Neighbors, embeddings: Optional[np.ndarray]
) -> Batch:
  """Returns fixed scores or embeddings of the searched blocks."""
  if embeddings is None:
    is_found = found.block_ids >= 0
    fixed = np.where(is_found, found.scores, 0).astype(np.float32)
    return {'fixed_scores': fixed}
  blocks = np.maximum(found.block_ids, 0)
  vectors = np.asarray(embeddings[blocks.ravel()], np.float32)
  vectors = vectors.reshape([*blocks.shape, -1])
  return {'block_embeddings': vectors}


def _labels(
  labels: answer_labels.AnswerLabels,
  rows: np.ndarray,
  block_ids: np.ndarray,
  experiment: config_lib.ExperimentConfig,
  share: sampling.Share,
  *,
  longest: int,
) -> Batch:
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
