"""Tests for realm_tf.wiki.holes."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.wiki import holes
from tests import linear_time


def _cut(text):
  return holes.cut(text.replace('#', holes.HOLE).replace('@', holes.LOST))


class HolesTest(parameterized.TestCase):
  @parameterized.parameters(
    'It lies # above the sea.',
    'It has # people.',
    'The star is # away.',
    'It is as long as #.',
    'It cost $#.',
    'It is #km long.',
    'It grew from 5 to #.',
    '# is a town.',
    'The vowel @ is common.',
    'It is the phoneme @.',
    'Its size, @, is known.',
  )
  def test_drops_a_sentence_that_lacks_a_word(self, sentence):
    self.assertEqual(
      _cut(f'It is old. {sentence} It rains.'), 'It is old. It rains.'
    )

  @parameterized.parameters(
    ('It is old.# It rains.', 'It is old. It rains.'),
    ('It is old#, they say.', 'It is old, they say.'),
    ('It is old. # It rains.', 'It is old. It rains.'),
    ('# France won.', 'France won.'),
    ('One, #, two.', 'One, , two.'),
    ('#\nIt is old.\n# #', '\nIt is old.\n'),
    ('It (#) is old.', 'It () is old.'),
    ('It (@; born 1191) is old.', 'It (; born 1191) is old.'),
    ('It (about # long) is old.', 'It is old.'),
    ('It (once @) is old.', 'It is old.'),
    ('It is 5 km long.', 'It is 5 km long.'),
  )
  def test_other_holes_close(self, text, expected):
    self.assertEqual(_cut(text).strip(' '), expected)

  @parameterized.parameters('a#', 'a# b', '# ', '(#', '(a # b)', 'A. # ', '@')
  def test_time_is_linear(self, unit):
    linear_time.check(_cut, lambda n: unit * n, 1000)


if __name__ == '__main__':
  absltest.main()
