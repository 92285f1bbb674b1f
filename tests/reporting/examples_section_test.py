"""Tests for realm_tf.reporting.examples_section."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.reporting import elements
from realm_tf.reporting import examples_section
from realm_tf.rundir import examples as examples_lib
from tests.reporting import small_run
from tests.reporting import tables


def _build(query='a pound', masked=((2, 7),), text='A pound.'):
  candidate = examples_lib.Candidate(1, 'T', text, 0.5, 0.5, None)
  [article] = examples_section.build(
    [examples_lib.Example(1, query, masked, [candidate])]
  )
  return article


class ExamplesSectionTest(parameterized.TestCase):
  def test_a_sentence_and_its_candidates(self):
    [article] = examples_section.build([small_run.EXAMPLE])
    sentence = article.find('p')
    self.assertEqual(''.join(sentence.itertext()), 'the pound is a currency')
    self.assertEqual([mark.text for mark in sentence.iter('mark')], ['pound'])
    self.assertEqual(
      tables.cells(article)[1:],
      [
        ['0.750', '0.500', '+1.25', 'Money The Pound is used.'],
        ['0.125', '1e−04', '−2.50', 'Weight An ounce.'],
        ['0.125', '0.250', '+0.00', 'null block: the reader sees no text'],
      ],
    )

  def test_helpful_and_harmful_blocks_are_marked(self):
    [article] = examples_section.build([small_run.EXAMPLE])
    rows = list(article.iter('tr'))[1:]
    kinds = [row[2].get('class') for row in rows]
    self.assertEqual(kinds, ['helps', 'hurts', None])
    self.assertEqual(rows[0][0].get('style'), '--share: 75.0%')

  @parameterized.named_parameters(
    ('in_any_case', 'a pound', (2, 7), 'A POUND.', ['POUND']),
    ('whole_words', 'a pound', (2, 7), 'Pounds, pound.', ['pound']),
    ('joined_again', 'the u . s . a', (4, 11), 'The U.S. is', ['U.S.']),
    ('no_pattern', 'a a+ a', (2, 4), 'aaa a+ b', ['a+']),
    ('a_digit', 'at 4', (3, 4), 'at 4, 14', ['4']),
    ('a_single_letter', 'a b', (2, 3), 'b a b', []),
  )
  def test_marks_the_masked_words(self, query, masked, text, expected):
    cell = list(_build(query, [masked], text).iter('tr'))[1][3]
    self.assertEqual([mark.text for mark in cell.iter('mark')], expected)
    self.assertEqual(''.join(cell.itertext()), f'T {text}')

  @parameterized.named_parameters(
    ('no_match', 'word ' * 100, 'word word', ' …'),
    (
      'match_far_behind',
      'word ' * 100 + 'pound ' + 'end ' * 100,
      '… word',
      ' …',
    ),
    ('match_at_the_end', 'word ' * 100 + 'pound', '… word', 'pound'),
    ('no_space', 'w' * 400, 'www', 'w …'),
  )
  def test_a_long_text_is_cut_around_the_masked_words(self, text, start, end):
    shown = tables.cells(_build(text=text))[1][3].removeprefix('T ')
    self.assertStartsWith(shown, start)
    self.assertEndsWith(shown, end)
    self.assertBetween(len(shown), 60, 310)
    self.assertEqual('pound' in text, 'pound' in shown)

  def test_text_of_articles_is_escaped(self):
    evil = '<script>alert(1)</script><img src=x onerror=alert(1)>'
    candidate = examples_lib.Candidate(1, evil, evil, 0.5, 0.5, None)
    [article] = examples_section.build(
      [examples_lib.Example(1, evil, [(0, 8)], [candidate])]
    )
    page = elements.to_page(article)
    self.assertNotIn('<script', page)
    self.assertNotIn('<img', page)
    self.assertIn('&lt;img src=x onerror', page)


if __name__ == '__main__':
  absltest.main()
