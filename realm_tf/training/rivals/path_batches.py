"""Batches of paths: questions, where to begin, and what is behind links.

questions -> search with current parameters, BM25 -> [this file] -> batch
"""

from collections.abc import Callable, Iterator

import numpy as np

from realm_tf import config as config_lib
from realm_tf.index import searcher as searcher_lib
from realm_tf.records import sampling
from realm_tf.retrieval import path_searcher
from realm_tf.training import answer_labels
from realm_tf.training import question_search

_QUESTION_WIDTH = 32  # Batches are trimmed to multiples of it.
# Seeds found by words: at first, embeddings find few articles that links of a
# question's own article lead away from.
NUM_BY_WORDS = 4


def batches(
  labels: answer_labels.AnswerLabels,
  embed: Callable[[np.ndarray], np.ndarray],
  searcher: searcher_lib.Searcher,
  *,
  words: question_search.Search,
  paths: path_searcher.Paths,
  experiment: config_lib.ExperimentConfig,
  share: sampling.Share = sampling.WHOLE,
) -> Iterator[dict[str, np.ndarray]]:
  """Yields endless batches; see `path_trainer.PathTrainer`.

  Args:
    embed: Embeds wordpieces with the current parameters.
    searcher: Finds seeds by their embeddings.
    words: Finds further seeds.
    share: This process's part of each batch, and the first step.
  """
  config = experiment.path
  sampler = sampling.Sampler(
    len(labels.questions.ids), config.batch_size, experiment.seed
  )
  step = share.first_step
  while True:
    rows = sampler.rows(step)[share.rows(config.batch_size)]
    question_ids = share.trim(labels.questions.ids[rows], _QUESTION_WIDTH)
    queries = embed(question_ids)
    by_words = words(rows, question_ids, NUM_BY_WORDS).block_ids
    found = searcher.search(queries, path_searcher.NUM_SEEDS - NUM_BY_WORDS)
    seeds = _joined(found.block_ids, by_words)
    blocks, vectors = paths.of(queries, seeds)
    yield {
      'question_ids': question_ids,
      'block_embeddings': vectors,
      **_labels(labels, rows, blocks),
    }
    step += 1


def _joined(seeds, others):
  """Returns `others` and those of `seeds` that are not among them, [B, F]."""
  is_double = (seeds[:, :, None] == others[:, None]).any(axis=-1)
  return np.concatenate([others, np.where(is_double, -1, seeds)], axis=1)


def _labels(labels, rows, blocks):
  """Returns which paths end at an answer and which count, [B, F, 1 + M]."""
  has_answer, is_compared = (
    np.stack(
      [
        label(row, ids.ravel()).reshape(ids.shape)
        for row, ids in zip(rows, blocks)
      ]
    )
    for label in (labels.has_answer, labels.is_compared)
  )
  return {'has_answer': has_answer, 'is_compared': is_compared & (blocks >= 0)}
