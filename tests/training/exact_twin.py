"""What a compiled step must be equal to: the step of the exact encoders."""

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
    test: That asserts.
    make_trainer: Takes jit_compile; of the same model each time.
    batch: Batch of a step.
    layers: Of the model, those that train with a `lean` encoder.
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
    # The pooler of a reader has no gradient, in either.
    test.assertEqual(one is None, other is None)
    if one is not None:
      test.assertAllClose(one, other, rtol=1e-5, atol=1e-6)
