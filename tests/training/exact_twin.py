"""Compares a compiled step with the same step of the exact encoders."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf.training import step_trainer


def assert_same_step(
  test: tf.test.TestCase,
  make_trainer: Callable[[bool], step_trainer.StepTrainer],
  batch: Mapping[str, np.ndarray],
  layers: Sequence[tf_keras.layers.Layer],
) -> None:
  """Compares loss and gradients.

  Args:
    make_trainer: jit_compile -> trainer, always of the same model.
    layers: The model's layers with a `lean` encoder.
  """
  batch = {name: tf.constant(value) for name, value in batch.items()}
  loss, _, gradients = make_trainer(True).compute(batch)
  trainer = make_trainer(False)
  for layer in layers:
    test.assertIsNotNone(layer.lean)
    layer.lean = None
  exact_loss, _, exact = trainer.compute(batch)
  test.assertAllClose(loss, exact_loss, rtol=1e-5)
  for one, other in zip(gradients, exact, strict=True):
    # A reader's pooler has no gradient.
    test.assertEqual(one is None, other is None)
    if one is not None:
      test.assertAllClose(one, other, rtol=1e-5, atol=1e-6)
