"""ICT steps of a small model, and their reference under one tape."""

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.model import realm_model
from realm_tf.model import strategies
from realm_tf.training import inverse_cloze_trainer
from realm_tf.training import optimizer
from realm_tf.training import step_trainer
from tests import tiny
from tests.index import small

BATCH_SIZE = 8
_SEED = 3


class OneTape(inverse_cloze_trainer.InverseClozeTrainer):
  """Embeds all chunks under one tape, with the same dropout."""

  def __init__(self, *args, num_chunks: int, **options):
    super().__init__(*args, **options)
    self._num_chunks = num_chunks

  def embed(self, batch):
    embeddings = []
    for i in range(self._num_chunks):
      chunk = {
        name: tf.split(value, self._num_chunks)[i]
        for name, value in batch.items()
      }
      with self._dropout(self.global_step, i):
        embeddings.append(super().embed(chunk))
    return tuple(tf.concat(each, axis=0) for each in zip(*embeddings))


def compute(
  kind: type[inverse_cloze_trainer.InverseClozeTrainer],
  dropout_rate: float,
  jit_compile: bool = False,
  chunk_size: int = 0,
  **options,
) -> dict[str, np.ndarray]:
  """Returns loss, logs and gradients of a batch, by name.

  Uses the current strategy, and the same weights in each call.
  """
  trainer = kind(
    tf_keras.optimizers.legacy.SGD(1.0),
    _model(dropout_rate),
    config_lib.InverseClozeConfig(
      batch_size=BATCH_SIZE, chunk_size=chunk_size, jit_compile=jit_compile
    ),
    lengths=small.CONFIG.lengths,
    special_ids=small.SPECIAL_IDS,
    **options,
  )
  trainer.seed_dropout(_SEED)
  strategy = tf.distribute.get_strategy()
  means = step_trainer.StepLogs().mean_over_replicas

  def step(part):
    loss, logs, gradients = trainer.compute(part)
    gradients = optimizer.sum_over_replicas(gradients)
    found = {
      variable.name: gradient
      for variable, gradient in zip(
        trainer.model.trainable_variables, gradients, strict=True
      )
      if gradient is not None
    }
    return {**found, **means({'loss': loss, **logs})}

  run = tf.function(lambda batch: strategy.run(step, (batch,)))
  return {
    name: strategy.experimental_local_results(value)[-1].numpy()
    for name, value in run(strategies.spread(strategy, _batch())).items()
  }


def assert_close(
  actual: dict[str, np.ndarray], expected: dict[str, np.ndarray]
) -> None:
  """Fails unless both agree to 1e-5 of the largest number of each array."""
  np.testing.assert_equal(sorted(actual), sorted(expected))
  # A key's bias adds the same number to all scores, so its gradient is 0 except
  # for rounding.
  floor = 1e-2 * max(np.abs(each).max() for each in expected.values())
  for name, value in expected.items():
    scale = max(np.abs(value).max(), floor)
    np.testing.assert_allclose(
      actual[name] / scale, value / scale, rtol=0, atol=1e-5, err_msg=name
    )


def _batch():
  rng = np.random.default_rng(0)

  def texts(length):
    ids = rng.integers(5, 20, [BATCH_SIZE, length])
    used = rng.integers(1, length + 1, [BATCH_SIZE, 1])
    return np.where(np.arange(length) < used, ids, 0).astype(np.int32)

  return {
    'query_ids': texts(4),
    'title_ids': texts(2),
    'body_ids': texts(7),
    'is_compared': np.eye(BATCH_SIZE, dtype=bool)
    | (rng.random([BATCH_SIZE, BATCH_SIZE]) < 0.7),
  }


def _model(dropout_rate):
  names = 'dropout_rate', 'attention_dropout_rate'
  rates = dict.fromkeys(names, dropout_rate)
  config = tiny.changed(small.CONFIG.model, embedder_bert=rates)
  model = realm_model.RealmModel(config, [realm_model.EMBEDDER])
  rng = np.random.default_rng(1)
  for variable in model.variables:
    if variable.shape.rank > 1:  # For scores far from 0.
      variable.assign(rng.normal(0, 0.3, variable.shape))
  for module in model.submodules:
    if isinstance(module, tf_keras.layers.Dropout):
      module.rate = dropout_rate  # The embedding's own rate, too.
  return model
