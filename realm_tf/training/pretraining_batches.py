"""Batches of pre-training: masked queries with their K candidate blocks.

Masking and retrieval run on the host, ahead of the step. A batch has:

  query_ids: Wordpieces, int32 [B, Lx].
  masked_positions: int32 [B, M].
  gold_ids: Masked wordpieces, int32 [B, M].
  token_mask: 1.0, padding has 0.0, float32 [B, M].
  candidate_ids: Block ids, int32 [B, K].
  is_real: False for padding, bool [B, K].
  title_ids, body_ids: Wordpieces, int32 [B, K, Lt] and [B, K, Lz].
  cloze_ids: Sentences of the candidates, int32 [B, K - 1, Lx], only with
    `inverse_cloze_weight`.
  index_age_steps: Age of the searched index, an int that stays on the host.
"""

from collections.abc import Callable, Iterator, Mapping
import dataclasses
import itertools
from typing import Any

import numpy as np

from realm_tf import config as config_lib
from realm_tf import interfaces
from realm_tf.data import block_table
from realm_tf.data import cloze_sentences
from realm_tf.data import held_out
from realm_tf.data import masking
from realm_tf.data import query_table
from realm_tf.data import sampling
from realm_tf.retrieval import candidates
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.text import wordpiece

# Batches are trimmed to multiples of these: each shape is traced.
_QUERY_WIDTH, _BODY_WIDTH, _SENTENCE_WIDTH = 48, 16, 64
_SENTENCES = 1  # Random stream 1 of a step; stream 0 draws the masks.
_LOOKED_THROUGH = 20  # Hits that may hold a recurring span.
_OWN, _CANDIDATES = 'own_block', 'candidate_ids'  # Fields of a batch.


class Batches:
  """Endless batches, each made in three parts.

  `masked` deals and masks queries, `begin` starts their search, and the
  function that it returns waits for the hits and gathers the candidates.
  Iterating does one part after the other. The retriever is called once a step.

  Args:
    index_step: Returns the step of the index that was searched last.
    sentences: Adds sentences of the candidates.
  """

  def __init__(
    self,
    queries: query_table.QueryTable,
    table: block_table.BlockTable,
    retriever: interfaces.Retriever,
    *,
    tokenizer: wordpiece.WordpieceTokenizer,
    experiment: config_lib.ExperimentConfig,
    share: sampling.Share = sampling.WHOLE,
    index_step: Callable[[], int] | None = None,
    sentences: 'Sentences | None' = None,
  ):
    self._queries, self._table, self._retriever = queries, table, retriever
    self._tokenizer, self._experiment = tokenizer, experiment
    self._share, self._index_step = share, index_step
    self._sentences = sentences
    config = experiment.pretraining
    self._size = config.batch_size
    self._num_dealt = config.batch_size * config.oversampling
    self._depth = config.num_candidates + candidates.SPARE_HITS
    if config.candidates == 'recurring_span':
      self._depth = _LOOKED_THROUGH

  def __iter__(self) -> Iterator[dict[str, Any]]:
    for item in self.masked():
      yield self.begin(item)()

  def masked(self) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields each step and its masked queries."""
    seed, share = self._experiment.seed, self._share
    how = masking.of_config(self._experiment, self._tokenizer.mask_id)
    rows = held_out.others(
      held_out.queries(
        self._queries, self._table, self._experiment.held_out.share
      )
    )
    sampler = sampling.Sampler(len(rows), self._num_dealt, seed)
    for step in itertools.count(share.first_step):
      rng = sampling.step_rng(seed, step)
      chosen = rows[sampler.rows(step)]
      batch = masking.mask_batch(self._queries, chosen, how, rng)
      batch['query_ids'] = share.trim(batch['query_ids'], _QUERY_WIDTH)
      yield step, batch if self._num_dealt > self._size else share.take(batch)

  def begin(
    self, item: tuple[int, dict[str, Any]]
  ) -> Callable[[], dict[str, Any]]:
    """Starts the search for an item of `masked`; the result ends the batch."""
    step, batch = item
    find = retriever_lib.begin(
      self._retriever,
      retriever_lib.masked(batch['query_ids'], self._tokenizer),
      self._depth,
    )
    age = {}
    if self._index_step:
      # A resumed trainer may be at an earlier step than the index.
      age = {'index_age_steps': max(0, step - self._index_step())}
    return lambda: {**self._end(step, batch, find().block_ids), **age}

  def _end(
    self, step: int, batch: dict[str, Any], hits: np.ndarray
  ) -> dict[str, Any]:
    experiment, table = self._experiment, self._table
    batch[_CANDIDATES] = choose(hits, batch, table, experiment=experiment)
    if self._num_dealt > self._size:
      # Preferably queries with a candidate that holds the span.
      has_span = candidates.hold_span(
        batch[_CANDIDATES], batch, table, experiment.lengths.block_tokens
      )
      used = np.argsort(~has_span.any(axis=1), kind='stable')[: self._size]
      batch = {name: field[used] for name, field in batch.items()}
      batch['query_ids'] = self._share.trim(batch['query_ids'], _QUERY_WIDTH)
      batch = self._share.take(batch)
    del batch[_OWN]
    batch |= with_blocks(
      batch[_CANDIDATES], table, experiment.lengths, share=self._share
    )
    return self._sentences.add(step, batch) if self._sentences else batch


def choose(
  hits: np.ndarray,
  batch: Mapping[str, np.ndarray],
  table: block_table.BlockTable,
  *,
  experiment: config_lib.ExperimentConfig,
) -> np.ndarray:
  """Returns the ids of the K candidates of each query, int32 [B, K].

  Args:
    hits: Block ids, best first, int [B, N].
    batch: Masked queries from `masking.mask_batch`.
  """
  own, k = batch[_OWN], experiment.pretraining.num_candidates
  if experiment.pretraining.candidates != 'recurring_span':
    return candidates.select(hits, own, k)
  has_span = candidates.hold_span(
    hits, batch, table, experiment.lengths.block_tokens
  )
  hits = np.take_along_axis(
    hits, np.argsort(~has_span, axis=1, kind='stable'), axis=1
  )
  return candidates.select(hits, own, k + 1)[:, 1:]  # No null block.


def with_blocks(
  chosen: np.ndarray,
  table: block_table.BlockTable,
  lengths: config_lib.LengthConfig,
  *,
  share: sampling.Share = sampling.WHOLE,
) -> dict[str, np.ndarray]:
  """Returns the batch's fields with a K axis."""
  titles, bodies = table.gather(
    chosen, lengths.title_tokens, lengths.block_tokens
  )
  return {
    'title_ids': titles,
    'body_ids': share.trim(bodies, _BODY_WIDTH),
    'is_real': candidates.is_real(chosen),
    _CANDIDATES: chosen,
  }


class Sentences:
  """Adds 'cloze_ids', int32 [b, K - 1, Lx], to batches of pre-training.

  ICT on the candidates: a sentence must find its candidate. Pre-training embeds
  the candidates anyway, so only embedding the sentences costs time. The
  candidates of one query are hard negatives of each other. A sentence stays in
  its block; `experiment.inverse_cloze` sets dropped words and noise (from
  `ordinary_ids`). Padding and held-out articles get zeros.
  """

  def __init__(
    self,
    table: block_table.BlockTable,
    ordinary_ids: np.ndarray,
    *,
    experiment: config_lib.ExperimentConfig,
    share: sampling.Share = sampling.WHOLE,
  ):
    self._table, self._ordinary_ids = table, ordinary_ids
    self._experiment, self._share = experiment, share
    self._config = dataclasses.replace(
      experiment.inverse_cloze,
      remove_rate=0.0,
      query_tokens=experiment.lengths.query_tokens,
    )
    self._is_held_out = held_out.blocks(table, experiment.held_out.share)

  def add(self, step: int, batch: dict[str, Any]) -> dict[str, Any]:
    """Returns the batch of a step with its sentences."""
    ids = batch[_CANDIDATES][:, 1:]
    rng = sampling.step_rng(self._experiment.seed, step, _SENTENCES)
    number = self._experiment.pretraining.batch_size * ids.shape[1]
    own = self._share.rows(number)
    rows = np.maximum(ids.ravel(), 0)
    random = rng.random([number, 2])[own]
    _, _, queries = cloze_sentences.take(
      self._table, rows, random, self._config, self._experiment.lengths
    )
    queries[(ids.ravel() < 0) | self._is_held_out[rows]] = 0
    queries = cloze_sentences.change(
      queries, self._ordinary_ids, self._config, rng, own=own, size=number
    )
    queries = self._share.trim(queries, _SENTENCE_WIDTH)
    return {**batch, 'cloze_ids': queries.reshape([*ids.shape, -1])}
