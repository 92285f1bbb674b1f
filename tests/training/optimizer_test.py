"""Tests for realm_tf.training.optimizer."""

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.modeling import realm_model
from realm_tf.training import optimizer as optimizer_lib
from tests import tiny


class OptimizerTest(tf.test.TestCase):
  def test_learning_rate_rises_linearly_then_falls_to_zero(self):
    schedule = optimizer_lib.create(
      config_lib.OptimizerConfig(2.0, num_steps=100, warmup_steps=10)
    ).learning_rate
    rates = [float(schedule(step)) for step in (0, 5, 10, 55, 100)]
    # 2 * 5 / 10 in the warm-up, then 2 * (1 - step / 100).
    self.assertAllClose(rates, [0.0, 1.0, 1.8, 0.9, 0.0])

  def test_decays_all_weights_but_layer_norms_and_biases(self):
    model = realm_model.RealmModel(
      realm_model.with_vocab_size(tiny.config().model, 12),
      [realm_model.EMBEDDER, realm_model.MASKED_LM, realm_model.SPAN],
    )
    variables = model.trainable_variables
    for variable in variables:
      variable.assign(tf.ones_like(variable))
    optimizer = optimizer_lib.create(
      config_lib.OptimizerConfig(1.0, num_steps=100, warmup_steps=1)
    )
    for _ in range(2):  # The first step of the warm-up has rate 0.
      optimizer.apply_gradients([(tf.zeros_like(v), v) for v in variables])
    kinds = set()
    for variable in variables:
      kind = variable.name.split('/')[-1].split(':')[0]
      is_spared = kind in ('gamma', 'beta') or 'bias' in kind
      kinds.add(is_spared)
      # The second step has rate 1 - 1 / 100 and takes 1 % of it.
      expected = 1.0 if is_spared else 1.0 - 0.99 * 0.01
      self.assertAllClose(
        variable, expected * tf.ones_like(variable), msg=variable.name
      )
    self.assertEqual(kinds, {True, False})

  def test_clips_the_global_norm_to_one(self):
    x, y = tf.Variable([0.0]), tf.Variable([0.0])
    optimizer = optimizer_lib.create(config_lib.OptimizerConfig(1.0, 100))
    optimizer.apply_gradients([([30.0], x), ([40.0], y)])
    # The norm is 50; the first moment is 0.1 of the clipped gradient.
    self.assertAllClose(optimizer.get_slot(x, 'm'), [0.1 * 30 / 50])
    self.assertAllClose(optimizer.get_slot(y, 'm'), [0.1 * 40 / 50])

  def test_corrects_the_bias_of_the_moments(self):
    x = tf.Variable([0.0], name='bias')
    optimizer = optimizer_lib.create(
      config_lib.OptimizerConfig(1.0, num_steps=100, warmup_steps=1)
    )
    for _ in range(2):
      optimizer.apply_gradients([([0.5], x)])
    # Corrected, the moments of a constant gradient g are g and g^2: a step is
    # as long as its rate, 0 and then 0.99. Uncorrected, this one would be
    # 0.99 * 0.19 / sqrt(0.001999) = 4.2 times that rate.
    self.assertAllClose(x, [-0.99], rtol=1e-3)

  def test_scalars_learn_at_the_rate_of_their_size_and_do_not_decay(self):
    config = config_lib.OptimizerConfig(
      1e-3, 100, 1, weight_decay_rate=0.5, embedder_rate_scale=0.1
    )
    optimizer = optimizer_lib.create(config)
    temperature, bias = (
      tf.Variable(1.0, name=name)
      for name in (realm_model.LOG_TEMPERATURE, realm_model.NULL_BIAS)
    )
    for _ in range(2):  # The first step of the warm-up has rate 0.
      optimizer.apply_gradients([(0.5, temperature), (0.5, bias)])
    # 10 and 100 times 1e-3 * 0.99, whatever the embedders' rate is.
    self.assertAllClose([temperature, bias], [1 - 0.0099, 1 - 0.099], atol=1e-5)

  def test_the_embedders_learn_at_a_rate_of_their_own(self):
    variables = [
      tf.Variable([[1.0], [1.0]], name=name)
      for name in (
        'query_bert/kernel',
        'block_bert/kernel',
        'shared_embedder/x',
      )
    ]
    reader = tf.Variable([[1.0], [1.0]], name='reader_bert/kernel')
    optimizer = optimizer_lib.create(
      config_lib.OptimizerConfig(
        1e-2, 100, 1, weight_decay_rate=0.1, embedder_rate_scale=0.25
      )
    )
    for _ in range(2):  # The first step of the warm-up has rate 0.
      optimizer.apply_gradients(
        [([[0.5], [0.0]], variable) for variable in (*variables, reader)]
      )
    rate = 1e-2 * 0.99  # With a gradient's own direction 1, and a decay of 0.1.
    self.assertAllClose(reader, [[1 - rate * 1.1], [1 - rate * 0.1]], atol=1e-6)
    for variable in variables:
      self.assertAllClose(
        variable,
        [[1 - rate * 1.1 / 4], [1 - rate * 0.1 / 4]],
        atol=1e-6,
        msg=variable.name,
      )


if __name__ == '__main__':
  tf.test.main()
