"""ICT examples: a sentence, and the block around it.

block table -> [this file] -> 'query_ids', 'title_ids', 'body_ids'
"""

from collections.abc import Iterator

import numpy as np

from realm_tf import config as config_lib
from realm_tf.records import block_table
from realm_tf.records import sampling

_QUERY_WIDTH, _BODY_WIDTH = 8, 16  # Multiples that batches are trimmed to.


def batches(
  table: block_table.BlockTable,
  ordinary_ids: np.ndarray,
  experiment: config_lib.ExperimentConfig,
  first_step: int = 0,
) -> Iterator[dict[str, np.ndarray]]:
  """Yields endless batches; those of a step depend on seed and step only.

  Section 4 of Lee et al. 2019: a random sentence of a block is the query, and
  it is cut out of the block 90 % of the time, so that a model must match
  meaning but also learns that equal words matter.

  Args:
    table: Blocks; those of a single sentence keep it.
    ordinary_ids: The vocabulary without its special ids, for noise.
    experiment: Batch size, removal and noise rates, lengths, and the seed of
      order, sentences and noise.
    first_step: Step of the first batch.

  Yields:
    See `inverse_cloze_trainer.InverseClozeTrainer`.
  """
  config, lengths = experiment.inverse_cloze, experiment.lengths
  seed = experiment.seed
  sampler = sampling.Sampler(table.num_blocks, config.batch_size, seed)
  step = first_step
  while True:
    rng = sampling.step_rng(seed, step)
    rows = sampler.rows(step)
    titles, bodies = table.gather(
      rows, lengths.title_tokens, lengths.block_tokens
    )
    queries = np.zeros([len(rows), config.query_tokens - 2], np.int32)
    for i, row in enumerate(rows):
      start, end = _draw_sentence(table.sentence_ends(row), rng)
      sentence = bodies[i, start:end][: queries.shape[1]]
      queries[i, : len(sentence)] = sentence
      is_whole = end - start >= np.count_nonzero(bodies[i])
      if not is_whole and rng.random() < config.remove_rate:
        _remove(bodies[i], start, end)
    queries = sampling.add_noise(
      queries, config.query_noise_rate, ordinary_ids, rng
    )
    yield {
      'query_ids': sampling.trim(queries, _QUERY_WIDTH),
      'title_ids': titles,
      'body_ids': sampling.trim(bodies, _BODY_WIDTH),
    }
    step += 1


def _remove(body, start, end):
  """Cuts [start, end) out of a zero-padded body, in place."""
  rest = body[end:].copy()
  body[start:] = 0
  body[start : start + len(rest)] = rest


def _draw_sentence(sentence_ends, rng):
  i = int(rng.integers(len(sentence_ends)))
  return (int(sentence_ends[i - 1]) if i else 0), int(sentence_ends[i])
