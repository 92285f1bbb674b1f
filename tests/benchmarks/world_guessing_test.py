"""Tests for benchmarks.world_guessing."""

from absl.testing import absltest

from benchmarks import world_guessing
from realm_tf.corpus import questions


def _question(question_id, *answers):
  return questions.Question('?', answers, question_id=question_id)


class GuessAccuraciesTest(absltest.TestCase):
  def test_guesses_the_most_frequent_answer_of_the_relation(self):
    train = [
      _question('country/A/currency', 'Euro'),
      _question('country/B/currency', 'Dollar'),
      _question('country/C/currency', 'Euro'),
      _question('country/A/neighbours', 'China', 'India'),
    ]
    test = [
      _question('country/D/currency', 'Euro'),
      _question('country/E/currency', 'Dollar'),
      _question('country/E/neighbours', 'Chad', 'China'),
      _question('country/E/area', '12'),
    ]  # No such question in training.
    self.assertEqual(
      world_guessing.guess_accuracies(train, test),
      {
        'country/currency': 50.0,
        'country/neighbours': 100.0,
        'country/area': 0.0,
        'all': 50.0,
      },
    )


if __name__ == '__main__':
  absltest.main()
