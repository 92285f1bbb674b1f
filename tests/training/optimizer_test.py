"""Tests for realm_tf.training.optimizer."""

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.model import realm_model
from realm_tf.training import optimizer as optimizer_lib
from tests import tiny


def _two_steps(pairs, rate=1.0, **options):
  """Applies gradients twice: a warm-up of one step has rate 0, then `rate`."""
  optimizer = optimizer_lib.create(
    config_lib.OptimizerConfig(rate, num_steps=100, warmup_steps=1, **options)
  )
  for _ in range(2):
    optimizer.apply_gradients(pairs)


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
    _two_steps([(tf.zeros_like(v), v) for v in variables])
    kinds = set()
    for variable in variables:
      kind = variable.name.split('/')[-1].split(':')[0]
      is_spared = kind in ('gamma', 'beta') or 'bias' in kind
      kinds.add(is_spared)
      # The second step has rate 1 - 1 / 100, and a decay of 1 % of the rate.
      expected = 1.0 if is_spared else 1.0 - 0.99 * 0.01
      self.assertAllClose(
        variable, expected * tf.ones_like(variable), msg=variable.name
      )
    self.assertEqual(kinds, {True, False})

  def test_corrects_the_bias_of_the_moments(self):
    x = tf.Variable([0.0], name='bias')
    _two_steps([([0.5], x)])
    # Corrected, the moments of a constant gradient g are g and g^2, so a step
    # equals its rate, 0 and then 0.99. Uncorrected, the second step would be
    # 0.19 / sqrt(0.001999) = 4.2 times its rate.
    self.assertAllClose(x, [-0.99], rtol=1e-3)

  def test_scalars_have_their_own_rates_and_no_decay(self):
    temperature, bias = (
      tf.Variable(1.0, name=name)
      for name in (realm_model.LOG_TEMPERATURE, realm_model.NULL_BIAS)
    )
    _two_steps([(0.5, temperature), (0.5, bias)], 1e-3, embedder_rate_scale=0.1)
    # 10 and 100 times 1e-3 * 0.99, without the embedders' scale.
    self.assertAllClose([temperature, bias], [1 - 0.0099, 1 - 0.099], atol=1e-5)

  def test_the_embedders_have_their_own_rate(self):
    names = 'query_bert/kernel', 'block_bert/kernel', 'shared_embedder/x'
    *variables, reader = (
      tf.Variable([[1.0], [1.0]], name=name)
      for name in (*names, 'reader_bert/kernel')
    )
    _two_steps(
      [([[0.5], [0.0]], variable) for variable in (*variables, reader)],
      1e-2,
      embedder_rate_scale=0.25,
    )
    rate = 1e-2 * 0.99  # Times 1 for a gradient, and 0.01 for the decay.
    self.assertAllClose(
      reader, [[1 - rate * 1.01], [1 - rate * 0.01]], atol=1e-6
    )
    for variable in variables:
      self.assertAllClose(
        variable,
        [[1 - rate * 1.01 / 4], [1 - rate * 0.01 / 4]],
        atol=1e-6,
        msg=variable.name,
      )


class GradientsTest(tf.test.TestCase):
  def test_the_sum_is_dense_and_none_stays_none(self):
    # Row 1 occurs twice: as slices its norm would be sqrt(3^2 + 1^2), not 4.
    slices = tf.IndexedSlices(
      tf.constant([[3.0], [1.0]]), tf.constant([1, 1]), tf.constant([3, 1])
    )
    first, second, third = optimizer_lib.sum_over_replicas(
      [slices, None, tf.constant([5.0])]
    )
    self.assertAllEqual(first, [[0.0], [4.0], [0.0]])
    self.assertIsNone(second)
    self.assertAllEqual(third, [5.0])

  def test_norms_of_all_and_of_each_tower(self):
    for gradients, expected in (
      # 3, 4 -> 5; 5, 12 -> 13; 13, 84 -> 85.
      (
        {
          'query_bert/a': [3.0, 0.0],
          'block_bert/a': [12.0, 0.0],
          'query_embedder/b': [0.0, 4.0],
          'masked_lm/c': [0.0, 84.0],
          'r': None,
        },
        {'': 85.0, '/query': 5.0, '/block': 12.0, '/reader': 84.0},
      ),
      ({'shared_a': [3.0, 4.0]}, {'': 5.0}),  # One tower: no norm of its own.
      ({'shared_a': None}, {'': 0.0}),
    ):
      norms = optimizer_lib.norms(
        [each and tf.constant(each) for each in gradients.values()],
        [tf.Variable(tf.zeros([2]), name=name) for name in gradients],
      )
      self.assertAllClose(
        norms, {f'gradient_norm{part}': norm for part, norm in expected.items()}
      )


if __name__ == '__main__':
  tf.test.main()
