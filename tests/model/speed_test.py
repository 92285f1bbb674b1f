"""Tests for realm_tf.model.speed."""

from absl.testing import absltest

from realm_tf.model import realm_model
from realm_tf.model import speed
from tests import tiny


class SpeedTest(absltest.TestCase):
  def test_seconds_are_of_a_wordpiece_without_the_first_step(self):
    # Times of four steps: the first traces, the others take 2, 4 and 3 seconds.
    times = iter([0, 90, 90, 92, 92, 96, 96, 99])
    model = tiny.changed(tiny.config().model, embedder_bert={'num_layers': 6})
    config = realm_model.with_vocab_size(model, 20)
    found = speed.train_secs(config, 10, lambda: next(times))
    # 50 texts of 10 wordpieces, 3 of 6 layers; XLA would take 60 % of the time.
    self.assertIn(round(found, 6), (0.012, 0.0072))


if __name__ == '__main__':
  absltest.main()
