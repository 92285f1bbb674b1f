"""Measures this machine: seconds to train an encoder on a wordpiece."""

from collections.abc import Callable
import dataclasses
import time
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.model import bert
from realm_tf.model import realm_model

_NUM_TOKENS = 500  # Wordpieces of a batch, about.
_NUM_LAYERS = 3  # To measure; the other layers take as long.
_NUM_MEASURED = 3  # Steps after the first, which TensorFlow traces.
_XLA_SHARE = 0.6  # Time of a compiled step over the measured, uncompiled one.


def train_secs(
  config: config_lib.ModelConfig,
  num_tokens: int,
  clock: Callable[[], float] = time.process_time,
) -> float:
  """Returns seconds of one core for a wordpiece, there and back.

  `config` must have the vocabulary's size; texts have `num_tokens` wordpieces.
  """
  layers = min(_NUM_LAYERS, config.embedder_bert.num_layers)
  part = dataclasses.replace(config.embedder_bert, num_layers=layers)
  model = realm_model.RealmModel(
    dataclasses.replace(config, embedder_bert=part), [realm_model.EMBEDDER]
  )
  shape = (max(1, _NUM_TOKENS // num_tokens), num_tokens)
  ids = {name: ids + 1 for name, ids in bert.example_tokens(shape).items()}
  ids['input_type_ids'] = tf.zeros(shape, tf.int32)

  @tf.function(autograph=False)
  def step() -> list[Any]:
    with tf.GradientTape() as tape:
      loss = tf.reduce_sum(model.embed_blocks(ids, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    return [tf.reduce_sum(each) for each in gradients if each is not None]

  times = []
  for _ in range(_NUM_MEASURED + 1):
    begun = clock()
    tf.nest.map_structure(lambda tensor: tensor.numpy(), step())
    times.append(clock() - begun)
  share = _XLA_SHARE if model.prefers_xla else 1.0
  share *= config.embedder_bert.num_layers / layers
  return share * float(np.median(times[1:])) / (shape[0] * shape[1])
