"""Finds hard negatives: blocks that a retriever mistakes for the right block.

Blocks with an answer are left out. So are blocks with nearly the score of the
question's own block: they often answer it in other words (Moreira et al. 2024,
https://arxiv.org/abs/2407.15831, "TopK-PercPos").
"""

import numpy as np

from realm_tf.records import null_block
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.training import answer_labels

_SHARE = 0.95  # A negative's highest score, over the own block's score.
_CHUNK = 1000  # Questions of one search.


def mine(
  rows: np.ndarray,
  block_ids: np.ndarray,
  labels: answer_labels.AnswerLabels,
  *,
  retriever: retriever_lib.Retriever,
  num_searched: int = 100,
  num_kept: int = 10,
) -> np.ndarray:
  """Returns hard negatives of P questions, best first, int64 [P, num_kept].

  -1 fills a row up. A question whose own block is not found has no negative.

  Args:
    rows: Numbers of the questions, [P].
    block_ids: The questions' own blocks, [P].
  """
  kept = np.full([len(rows), num_kept], null_block.ID, np.int64)
  for start in range(0, len(rows), _CHUNK):
    chunk = slice(start, start + _CHUNK)
    ids, scores = retriever.retrieve(
      labels.questions.queries(rows[chunk]), num_searched
    )
    limits = _limits(ids == block_ids[chunk, None], scores)
    for place, row in enumerate(rows[chunk]):
      is_low = (scores[place] <= limits[place]) & (ids[place] >= 0)
      low = ids[place][is_low]
      if low.size:
        low = low[~labels.hold_text([row], low)[0]][:num_kept]
      kept[start + place, : len(low)] = low
  return kept


def _limits(is_own: np.ndarray, scores: np.ndarray) -> np.ndarray:
  """Returns a negative's highest score, [n]; -inf without the own block."""
  own = np.max(np.where(is_own, scores, -np.inf), axis=1)
  return own - (1 - _SHARE) * np.abs(own)


def draw(negatives: np.ndarray, seed: int, step: int) -> np.ndarray:
  """Draws one of each question's negatives [B, n]: int64 [B], -1 without."""
  counts = np.sum(negatives != null_block.ID, axis=1)
  draws = np.random.default_rng([seed, step]).random(len(negatives))
  chosen = (draws * np.maximum(counts, 1)).astype(np.int64)
  return negatives[np.arange(len(negatives)), chosen]
