"""Tests for realm_tf.corpus.counts."""

from absl.testing import absltest

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib


class CountsTest(absltest.TestCase):
  def test_names_reasons_in_order(self):
    counts = counts_lib.Counts()
    self.assertEqual(counts.summary(), '')
    for reason in ('redirect', 'list', 'redirect'):
      counts.drop(reason)
    self.assertEqual(counts.summary(), ' Left out: 1 list, 2 redirect.')

  def test_an_error_is_raised_or_skipped_and_the_first_are_logged(self):
    with self.assertRaisesRegex(errors.UserError, 'Line 3'):
      counts_lib.Counts().error(errors.UserError('Line 3 must be JSON.'))
    counts = counts_lib.Counts(skip_errors=True)
    with self.assertLogs(level='WARNING') as logs:
      for i in range(100):
        counts.error(errors.UserError(f'Line {i}.'))
    self.assertLen(logs.output, 20)
    self.assertIn('Line 0.', logs.output[0])
    self.assertEqual(counts.left_out, {'unreadable': 100})


if __name__ == '__main__':
  absltest.main()
