"""Batches of ICT: sentences, and the blocks around them."""

from collections.abc import Iterator
from typing import Optional, TypedDict

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.records import block_table
from realm_tf.records import cloze_sentences
from realm_tf.records import held_out
from realm_tf.records import sampling

_QUERY_WIDTH, _BODY_WIDTH = 8, 16  # Batches are trimmed to multiples of these.


class Batch(TypedDict, total=False):
  """Queries and blocks of a step of the warm start, zero-padded wordpieces."""

  query_ids: np.ndarray | tf.Tensor  # int32 [B, Lx].
  title_ids: np.ndarray | tf.Tensor  # int32 [B, Lt].
  body_ids: np.ndarray | tf.Tensor  # int32 [B, Lz].
  # Blocks in each query's sum, bool [B, N]; by default all. The N blocks are
  # the B blocks and, if any, B hard negatives.
  is_compared: np.ndarray | tf.Tensor
  hard_title_ids: np.ndarray | tf.Tensor  # int32 [B, Lt].
  hard_body_ids: np.ndarray | tf.Tensor  # int32 [B, Lz].


def batches(
  table: block_table.BlockTable,
  ordinary_ids: np.ndarray,
  experiment: config_lib.ExperimentConfig,
  *,
  share: sampling.Share = sampling.WHOLE,
  rows: Optional[np.ndarray] = None,
) -> Iterator[Batch]:
  """Yields endless batches, functions of seed and step.

  Section 4 of Lee et al. 2019: the query is a random sentence of a block. 90 %
  of the queries are cut out of their block, so that the model must match
  meaning; the others teach that equal words matter. A block's only sentence
  stays. Sentences come from the embedded part of a block.

  Args:
    rows: Blocks to use, int64 [n]; by default all that are not held out.
  """
  config = experiment.inverse_cloze
  if rows is None:
    rows = held_out.others(held_out.blocks(table, experiment.held_out.share))
  sampler = sampling.Sampler(len(rows), config.batch_size, experiment.seed)
  own = share.rows(config.batch_size)
  step = share.first_step
  while True:
    rng = sampling.step_rng(experiment.seed, step)
    # The choice of the sentence, and whether it is cut out.
    draws = rng.random([config.batch_size, 2])[own]
    titles, bodies, queries = cloze_sentences.take(
      table, rows[sampler.rows(step)[own]], draws, config, experiment.lengths
    )
    queries = cloze_sentences.change(
      queries, ordinary_ids, config, rng, own=own, size=config.batch_size
    )
    yield Batch(
      query_ids=share.trim(queries, _QUERY_WIDTH),
      title_ids=titles,
      body_ids=share.trim(bodies, _BODY_WIDTH),
    )
    step += 1
