"""Batches of the warm start: sentences or questions, each with its block.

ICT takes sentences out of the blocks around them. Questions with answers are
paired with a block that has the answer, as in dense passage retrieval,
Karpukhin et al. 2020 (https://arxiv.org/abs/2004.04906). The negatives are the
batch's other blocks, some of the same title.
"""

from collections.abc import Callable, Iterator, Sequence
import itertools
import math
from typing import NamedTuple, Optional, TypedDict

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.data import block_table
from realm_tf.data import cloze_sentences
from realm_tf.data import held_out
from realm_tf.data import sampling
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.training import answer_labels

# Batches are trimmed to multiples of these: each shape is compiled.
_SENTENCE_WIDTH, _REST_WIDTH = 8, 16  # Of ICT.
_QUESTION_WIDTH, _BODY_WIDTH = 16, 64
_CHUNK = 1000  # Questions of one search.


class Batch(TypedDict, total=False):
  """Queries and blocks of a step of the warm start, zero-padded wordpieces."""

  query_ids: np.ndarray | tf.Tensor  # int32 [B, Lx].
  title_ids: np.ndarray | tf.Tensor  # int32 [B, Lt].
  body_ids: np.ndarray | tf.Tensor  # int32 [B, Lz].
  is_compared: np.ndarray | tf.Tensor  # Blocks in each sum, bool [B, B].


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
  for step in itertools.count(share.first_step):
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
      query_ids=share.trim(queries, _SENTENCE_WIDTH),
      title_ids=titles,
      body_ids=share.trim(bodies, _REST_WIDTH),
    )


class Pairs(NamedTuple):
  """P questions, each with a block that answers it."""

  rows: np.ndarray  # Numbers of the questions, int64 [P].
  block_ids: np.ndarray  # int64 [P].


def find_pairs(
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


def pair_batches(
  pairs: Pairs,
  labels: answer_labels.AnswerLabels,
  experiment: config_lib.ExperimentConfig,
  *,
  share: sampling.Share = sampling.WHOLE,
) -> Iterator[Batch]:
  """Yields endless batches, functions of seed and step.

  A block that holds an answer of a question is no negative of it.
  """
  config, lengths = experiment.inverse_cloze, experiment.lengths
  deal = by_title(
    pairs.block_ids,
    labels.table.titles(pairs.block_ids),
    labels.table.lengths(pairs.block_ids)[1],
    config=config,
    seed=experiment.seed,
  )
  own = share.rows(config.batch_size)
  for step in itertools.count(share.first_step):
    dealt = deal(step)
    rows, block_ids = pairs.rows[dealt[own]], pairs.block_ids[dealt]
    is_own = np.eye(len(block_ids), dtype=bool)[own]
    is_copy = block_ids[own, None] == block_ids
    titles, bodies = labels.table.gather(
      block_ids[own], lengths.title_tokens, lengths.block_tokens
    )
    yield Batch(
      query_ids=share.trim(labels.questions.ids[rows], _QUESTION_WIDTH),
      title_ids=titles,
      body_ids=share.trim(bodies, _BODY_WIDTH),
      is_compared=is_own | ~(is_copy | labels.hold_text(rows, block_ids)),
    )


def by_title(
  block_ids: np.ndarray,
  titles: Sequence[str],
  lengths: np.ndarray,
  *,
  config: config_lib.InverseClozeConfig,
  seed: int,
) -> Callable[[int], np.ndarray]:
  """Returns a function from a step to the numbers of its examples, [B].

  `questions_of_title` examples of one title come together, as hard negatives:
  the subject alone distinguishes blocks of different articles, and blocks of
  one title teach the retriever to use the rest of the text. Each title's
  examples are sorted by round (the first example of each block, then the
  second), then by length, and cut into groups. The rest forms groups of
  several titles; the last group may repeat examples.

  Args:
    block_ids: Block of each of P examples.
    titles: Titles of the P blocks.
    lengths: Lengths of the P blocks, int [P].
  """
  size = math.gcd(config.questions_of_title, config.batch_size)
  order = np.random.default_rng(seed).permutation(len(block_ids))
  turns = _turns(block_ids[order])
  _, subjects = np.unique(np.asarray(titles)[order], return_inverse=True)
  order = order[np.lexsort([lengths[order], turns, subjects])]
  subjects = np.sort(subjects)
  counts = np.bincount(subjects)[subjects]
  is_whole = _turns(subjects) < counts - counts % size
  whole, rest = order[is_whole], order[~is_whole]
  rest = np.resize(rest, [-(-len(rest) // size) * size])
  groups = np.concatenate([whole, rest]).reshape([-1, size])
  dealt = sampling.BucketSampler(
    sampling.Sampler(len(groups), config.batch_size // size, seed),
    lengths[groups].max(axis=1),
    config.bucket_batches,
    seed,
  )
  return lambda step: groups[dealt.rows(step)].ravel()


def _turns(ids: np.ndarray) -> np.ndarray:
  """Returns the number of earlier occurrences of each id, int [P]."""
  order = np.argsort(ids, kind='stable')
  _, first, counts = np.unique(
    ids[order], return_index=True, return_counts=True
  )
  turns = np.empty_like(order)
  turns[order] = np.arange(len(ids)) - np.repeat(first, counts)
  return turns
