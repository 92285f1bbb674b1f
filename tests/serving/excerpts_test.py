"""Tests for the examples of realm_tf.serving.report."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.run import examples as examples_lib
from realm_tf.serving import report
from tests.serving import small_run


def _block(query='a pound', masked=((2, 7),), text='A pound.'):
  """Returns the shown part of a candidate with `text`, in pieces."""
  candidate = examples_lib.Candidate(1, 'T', text, 0.5, 0.5, None)
  _, [(_, pieces)] = report.of_example(
    examples_lib.Example(1, query, masked, [candidate])
  )
  return pieces


class ExcerptsTest(parameterized.TestCase):
  def test_a_sentence_and_its_candidates(self):
    sentence, candidates = report.of_example(small_run.EXAMPLE)
    self.assertEqual(
      sentence, [('the ', False), ('pound', True), (' is a currency', False)]
    )
    self.assertEqual(
      [candidate for candidate, _ in candidates], small_run.EXAMPLE.candidates
    )

  @parameterized.named_parameters(
    ('in_any_case', 'a pound', (2, 7), 'A POUND.', ['POUND']),
    ('whole_words', 'a pound', (2, 7), 'Pounds, pound.', ['pound']),
    ('joined_again', 'the u . s . a', (4, 11), 'The U.S. is', ['U.S.']),
    ('no_pattern', 'a a+ a', (2, 4), 'aaa a+ b', ['a+']),
    ('a_digit', 'at 4', (3, 4), 'at 4, 14', ['4']),
    ('a_single_letter', 'a b', (2, 3), 'b a b', []),
  )
  def test_marks_the_masked_words(self, query, masked, text, expected):
    pieces = _block(query, [masked], text)
    self.assertEqual([piece for piece, marked in pieces if marked], expected)
    self.assertEqual(''.join(piece for piece, _ in pieces), text)

  @parameterized.named_parameters(
    ('no_match', 'word ' * 100, 'word word', 'word …'),
    ('far_on', 'word ' * 100 + 'pound ' + 'end ' * 100, '… word', 'end …'),
    ('match_at_the_end', 'word ' * 100 + 'pound', '… word', 'pound'),
    ('no_space', 'w' * 400, 'www', 'w …'),
    ('no_space_before', 'w' * 400 + '.pound', '… www', '.pound'),
  )
  def test_a_long_text_is_cut_around_the_masked_words(self, text, start, end):
    shown = ''.join(piece for piece, _ in _block(text=text))
    self.assertStartsWith(shown, start)
    self.assertEndsWith(shown, end)
    self.assertBetween(len(shown), 60, 310)
    self.assertEqual('pound' in text, 'pound' in shown)


if __name__ == '__main__':
  absltest.main()
