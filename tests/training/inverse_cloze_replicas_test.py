"""Tests that ICT on two replicas equals ICT on the whole batch."""

from absl.testing import absltest
from absl.testing import parameterized

from tests import forks
from tests.training import small_inverse_cloze

_TWO_REPLICAS = 'tests.training.two_replicas'


class InverseClozeReplicasTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.results = forks.arrays_of(_TWO_REPLICAS)

  @parameterized.parameters(
    ('two replicas', 'one replica'),
    ('chunks, dropout', 'dropout'),  # The same dropout both times.
  )
  def test_cases_are_equal(self, case, expected):
    small_inverse_cloze.assert_close(self.results[case], self.results[expected])

  def test_dropout_changes_the_loss(self):
    self.assertNotAlmostEqual(
      float(self.results['dropout']['loss']),
      float(self.results['one replica']['loss']),
      2,
    )


if __name__ == '__main__':
  absltest.main()
