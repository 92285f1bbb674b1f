"""Measures ICT on sentences of held-out articles.

Each sentence is once cut out of its block and once left in. A model that only
compares words succeeds in the second case alone (Lee et al. 2019, Section 4).
"""

import dataclasses
import itertools

import numpy as np
import tensorflow as tf

from realm_tf.objectives import inverse_cloze
from realm_tf.records import held_out
from realm_tf.training import runs
from realm_tf.training.inverse_cloze import inverse_cloze_batches
from realm_tf.training.inverse_cloze import inverse_cloze_trainer

# Metric -> share of sentences that are cut out.
_NAMES = {'held_out_accuracy': 1.0, 'held_out_accuracy_left_in': 0.0}


def rows(inputs: runs.Inputs) -> np.ndarray:
  """Returns the held-out blocks to measure, int64 [n], ascending."""
  config = inputs.config
  is_held_out = held_out.blocks(inputs.table, config.held_out.share)
  return held_out.choose(is_held_out, config.held_out.num_queries, config.seed)


def measure(
  inputs: runs.Inputs,
  trainer: inverse_cloze_trainer.InverseClozeTrainer,
  blocks: np.ndarray,
) -> dict[str, float]:
  """Returns the mean accuracy over at least one block, by the metric's name."""
  config = inputs.config
  size = min(config.inverse_cloze.batch_size, len(blocks))
  embed = tf.function(lambda batch: trainer.embed(batch, training=False))
  result = {}
  for name, rate in _NAMES.items():
    how = dataclasses.replace(
      config.inverse_cloze,
      batch_size=size,
      chunk_size=0,
      remove_rate=rate,
      query_drop_rate=0.0,
      query_noise_rate=0.0,
    )
    batches = inverse_cloze_batches.batches(
      inputs.table,
      inputs.ordinary_ids,
      dataclasses.replace(config, inverse_cloze=how),
      rows=blocks,
    )
    right = [
      inverse_cloze.in_batch_accuracy(*embed(batch)).numpy()
      for batch in itertools.islice(batches, len(blocks) // size)
    ]
    result[name] = float(np.mean(right))
  return result
