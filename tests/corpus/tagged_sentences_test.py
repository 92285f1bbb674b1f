"""Tests for realm_tf.corpus.tagged_sentences."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import tagged_sentences
from tests import input_case

_GOOD = '{"text": "Bern is old.", "spans": [[0, 4]], "id": 7}\n'


class TaggedSentencesTest(input_case.InputCase):
  def test_reads_and_counts(self):
    counts = counts_lib.Counts()
    path = self.file(_GOOD + '\n{"text": "No.", "spans": [], "id": null}')
    self.assertEqual(
      list(tagged_sentences.read([path], counts)),
      [
        tagged_sentences.TaggedSentence('Bern is old.', ((0, 4),), '7'),
        tagged_sentences.TaggedSentence('No.', ()),
      ],
    )
    self.assertEqual(counts.kept, {'sentences': 2})

  @parameterized.parameters(
    '{"text": "Bern"',
    '{"text": "Bern"}',
    '{"text": 3, "spans": []}',
    '{"text": "Bern", "spans": [[0, 5]]}',
    '{"text": "Bern", "spans": [[2, 2]]}',
    '{"text": "Bern", "spans": [[0, true]]}',
  )
  def test_a_bad_line_is_a_user_error_or_skipped(self, line):
    path = self.file(f'{_GOOD}{line}\n{_GOOD}')
    with self.assertRaisesRegex(errors.UserError, f'{path}:2 must'):
      list(tagged_sentences.read([path]))
    counts = counts_lib.Counts(skip_errors=True)
    self.assertLen(list(tagged_sentences.read([path], counts)), 2)
    self.assertEqual(counts.left_out, {counts_lib.UNREADABLE: 1})

  def test_a_missing_file_is_a_user_error_at_once(self):
    with self.assertRaisesRegex(errors.UserError, 'Found nothing at /no/file'):
      tagged_sentences.read(['/no/file'])


if __name__ == '__main__':
  absltest.main()
