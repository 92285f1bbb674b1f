"""Tests that functions of text take linear time."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.corpus import dates
from realm_tf.corpus import salient_spans
from realm_tf.corpus import terms
from realm_tf.text import answers
from realm_tf.text import plain_letters
from realm_tf.text import sentences
from tests import linear_time


def _tag(text):
  salient_spans.RulesTagger().tag([text])


def _tag_terms(text):
  terms.TermsTagger(terms.find([[text], [text]])).tag([text])


def _replace(text):
  salient_spans.with_dates(text, [(i, i + 1) for i in range(0, len(text), 8)])


def _match(text):
  answers.exact_match(text, [text])
  answers.f1(text, [text + ' b'])
  answers.contains_answer(text, [text[: len(text) // 2]])


class LinearTimeTest(parameterized.TestCase):
  @parameterized.product(
    (
      {'function': sentences.split_sentences, 'size': 800},
      {'function': dates.find_dates, 'size': 400},
      {'function': _tag, 'size': 400},
      {'function': _tag_terms, 'size': 400},
      {'function': _replace, 'size': 400},
      {'function': plain_letters.write, 'size': 1000},
      {'function': _match, 'size': 2000},
    ),
    kind=list(linear_time.TEXTS),
  )
  def test_eight_times_the_text_takes_linear_time(self, function, size, kind):
    linear_time.check(function, linear_time.TEXTS[kind], size)

  def test_quadratic_time_is_found(self):
    with self.assertRaisesRegex(AssertionError, 'times the time'):
      linear_time.check(
        lambda text: [text[i:].count('b') for i in range(len(text))],
        linear_time.TEXTS['dots'],
        3000,
      )


if __name__ == '__main__':
  absltest.main()
