"""Pairs each question with a block that answers it, to train both towers.

Dense passage retrieval, Karpukhin et al. 2020 (https://arxiv.org/abs/
2004.04906): the batch's other blocks are negatives unless they hold an answer
of the question. `title_groups` and `hard_negatives` add hard negatives.
"""

from collections.abc import Iterator
import functools
from typing import NamedTuple, Optional

import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.records import block_table
from realm_tf.records import sampling
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.training import answer_labels
from realm_tf.training.inverse_cloze import hard_negatives
from realm_tf.training.inverse_cloze import inverse_cloze_batches
from realm_tf.training.inverse_cloze import title_groups

# Batches are trimmed to multiples of these: each shape is compiled.
_QUERY_WIDTH, _BODY_WIDTH = 16, 64
_CHUNK = 1000  # Questions of one search.


class Pairs(NamedTuple):
  """P questions, each with a block that answers it."""

  rows: np.ndarray  # Numbers of the questions, int64 [P].
  block_ids: np.ndarray  # int64 [P].


def find(
  labels: answer_labels.AnswerLabels,
  retriever: Optional[retriever_lib.Retriever] = None,
  num_searched: int = config_lib.NUM_COMPARED,
) -> Pairs:
  """Finds blocks that answer questions; UserError if no question has a block.

  A question gets its first `gold` block, else the first block with an answer
  that `retriever` finds.
  """
  number = len(labels.questions.given)
  block_ids = np.array(
    [next(iter(labels.gold(row)), -1) for row in range(number)], np.int64
  )
  retriever = retriever or retriever_lib.Nothing()
  others = np.flatnonzero(block_ids < 0)
  for start in range(0, len(others), _CHUNK):
    chunk = others[start : start + _CHUNK]
    found = retriever.retrieve(labels.questions.queries(chunk), num_searched)
    for row, ids in zip(chunk, found.block_ids, strict=True):
      block_ids[row] = next(iter(ids[labels.has_answer(row, ids)]), -1)
  rows = np.flatnonzero(block_ids >= 0)
  if not rows.size:
    raise errors.UserError(
      'Training needs questions with a block that has the answer. Found none '
      f'for {number} questions in {labels.table.num_blocks} blocks. Give '
      'questions on this corpus.'
    )
  return Pairs(rows, block_ids[rows])


def batches(
  pairs: Pairs,
  labels: answer_labels.AnswerLabels,
  experiment: config_lib.ExperimentConfig,
  *,
  share: sampling.Share = sampling.WHOLE,
  negatives: Optional[np.ndarray] = None,
) -> Iterator[inverse_cloze_batches.Batch]:
  """Yields endless batches, functions of seed and step.

  Args:
    negatives: Result of `hard_negatives.mine`; a step draws one for each
      question.
  """
  config = experiment.inverse_cloze
  sampler = title_groups.sampler(
    pairs.block_ids,
    labels.table.titles(pairs.block_ids),
    labels.table.lengths(pairs.block_ids)[1],
    batch_size=config.batch_size,
    of_title=config.questions_of_title,
    bucket_batches=config.bucket_batches,
    seed=experiment.seed,
  )
  read = functools.partial(_read, labels.table, experiment.lengths, share)
  step = share.first_step
  while True:
    dealt = sampler(step)
    block_ids = columns = pairs.block_ids[dealt]
    own = share.rows(config.batch_size)
    rows = pairs.rows[dealt[own]]
    if negatives is not None:
      drawn = hard_negatives.draw(negatives[dealt], experiment.seed, step)
      columns = np.concatenate([block_ids, drawn])
    is_own = np.eye(len(block_ids), len(columns), dtype=bool)[own]
    may_answer = (block_ids[own, None] == columns) | labels.hold_text(
      rows, np.maximum(columns, 0)
    )
    titles, bodies = read(block_ids[own])
    batch = inverse_cloze_batches.Batch(
      query_ids=share.trim(labels.questions.ids[rows], _QUERY_WIDTH),
      title_ids=titles,
      body_ids=bodies,
      is_compared=is_own | (~may_answer & (columns >= 0)),
    )
    if negatives is not None:
      batch['hard_title_ids'], batch['hard_body_ids'] = read(drawn[own])
    yield batch
    step += 1


def _read(
  table: block_table.BlockTable,
  lengths: config_lib.LengthConfig,
  share: sampling.Share,
  block_ids: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
  """Returns titles and bodies of blocks, int32 [b, L] each."""
  titles, bodies = table.gather(
    block_ids, lengths.title_tokens, lengths.block_tokens
  )
  return titles, share.trim(bodies, _BODY_WIDTH)
