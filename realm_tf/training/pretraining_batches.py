"""Pre-training examples: a masked query with its K candidate blocks.

  query table -> masks -> search with the newest index -> [this file] -> batch

Runs on the host ahead of the step. Queries are embedded with the parameters of
the index version, so that query and block embeddings fit each other.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from realm_tf import config as config_lib
from realm_tf.records import block_table
from realm_tf.records import masking
from realm_tf.records import query_table
from realm_tf.records import sampling
from realm_tf.retrieval import candidates

# Multiples that batches are trimmed to: few shapes, for each one is traced.
_QUERY_WIDTH, _BODY_WIDTH = 32, 16
# Hits beyond K - 1, in place of the own block and of repeated ones.
_SPARE_HITS = 2
# Hits that are looked through for a recurring span.
_LOOKED_THROUGH = 20


class Words(NamedTuple):
  """The vocabulary's [MASK], and its ids without special ones, int32."""

  mask_id: int
  ordinary_ids: np.ndarray


Search = Callable[[np.ndarray, int], np.ndarray]


class HasStep(Protocol):
  """A search in the index of a training step, `step`."""

  step: int


def batches(
  queries: query_table.QueryTable,
  table: block_table.BlockTable,
  search: Search,
  words: Words,
  experiment: config_lib.ExperimentConfig,
  first_step: int = 0,
) -> Iterator[dict[str, np.ndarray]]:
  """Yields endless batches; see `pretraining_trainer.PretrainingTrainer`.

  Args:
    queries: X.
    table: Z.
    search: (query_ids [B, Lx], k) -> block ids [B, k], best first.
    words: What masks and noise are made of.
    experiment: Batch size, K, masking, noise rate, lengths, and the seed of
      order, masks and noise.
    first_step: Step of the first batch.

  Yields:
    Batches, with 'candidate_ids' int32 [B, K] beside what the trainer needs.
  """
  config, lengths = experiment.pretraining, experiment.lengths
  seed = experiment.seed
  how = masking.Masking(
    config.masking, lengths.query_tokens - 2, lengths.max_masked, words.mask_id
  )
  num_dealt = config.batch_size * config.oversampling
  sampler = sampling.Sampler(queries.num_queries, num_dealt, seed)
  step = first_step
  while True:
    rng = sampling.step_rng(seed, step)
    batch = masking.mask_batch(queries, sampler.rows(step), how, rng)
    own = batch.pop('own_block')
    batch['query_ids'] = sampling.trim(batch['query_ids'], _QUERY_WIDTH)
    # Found for the query as it is: noise would only find worse candidates.
    chosen = _candidates(batch, own, table, search, experiment)
    if config.oversampling > 1:
      batch, chosen = _most_telling(batch, chosen, table, experiment)
    batch['retrieval_query_ids'] = sampling.add_noise(
      sampling.drop_masks(
        batch['query_ids'], config.mask_drop_rate, words.mask_id, rng
      ),
      config.query_noise_rate,
      words.ordinary_ids,
      rng,
    )
    yield {**batch, **with_blocks(chosen, table, lengths)}
    step += 1


def with_index_step(
  batches: Iterator[dict[str, np.ndarray]], search: HasStep
) -> Iterator[dict[str, np.ndarray]]:
  """Adds 'index_step' to batches, an int: of the index that was searched."""
  for batch in batches:
    yield {**batch, 'index_step': search.step}


def _candidates(batch, own, table, search, experiment):
  """Returns the ids of the K candidates of each query, int32 [B, K]."""
  config = experiment.pretraining
  query_ids, k = batch['query_ids'], config.num_candidates
  if config.candidates == 'retrieved':
    return candidates.select(search(query_ids, k + _SPARE_HITS), own, k)
  hits = search(query_ids, _LOOKED_THROUGH)
  has_span = _has_span(hits, batch, table, experiment)
  hits = np.take_along_axis(
    hits, np.argsort(~has_span, axis=1, kind='stable'), axis=1
  )
  return candidates.select(hits, own, k + 1)[:, 1:]  # No null block.


def _most_telling(batch, chosen, table, experiment):
  """Returns the B queries, those with a candidate that has the span first."""
  has_span = _has_span(chosen, batch, table, experiment).any(axis=1)
  used = np.argsort(~has_span, kind='stable')[
    : experiment.pretraining.batch_size
  ]
  return {name: field[used] for name, field in batch.items()}, chosen[used]


def _has_span(ids, batch, table, experiment):
  """Whether a block has its query's masked wordpieces, bool [B, N]."""
  _, bodies = table.gather(ids, 1, experiment.lengths.block_tokens)
  return candidates.have_span(bodies, batch['gold_ids'])


def with_blocks(
  chosen: np.ndarray,
  table: block_table.BlockTable,
  lengths: config_lib.LengthConfig,
) -> dict[str, np.ndarray]:
  """Returns the candidates' wordpieces: the batch's fields with a K axis."""
  titles, bodies = table.gather(
    chosen, lengths.title_tokens, lengths.block_tokens
  )
  return {
    'title_ids': titles,
    'body_ids': sampling.trim(bodies, _BODY_WIDTH),
    'is_real': candidates.is_real(chosen),
    'candidate_ids': chosen,
  }
