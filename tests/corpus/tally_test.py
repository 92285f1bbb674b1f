"""Tests for realm_tf.corpus.tally."""

from absl.testing import absltest

from realm_tf import errors
from realm_tf.corpus import tally as tally_lib


class TallyTest(absltest.TestCase):
  def test_an_error_is_raised_unless_it_is_to_be_skipped(self):
    error = errors.UserError('Line 3 must be JSON.')
    with self.assertRaisesRegex(errors.UserError, 'Line 3'):
      tally_lib.Tally().error(error)
    tally = tally_lib.Tally(skip_errors=True)
    tally.error(error)
    self.assertEqual(tally.counts, {'unreadable': 1})

  def test_names_reasons_in_order(self):
    tally = tally_lib.Tally()
    self.assertEqual(tally.summary(), '')
    for reason in ('redirect', 'list', 'redirect'):
      tally.drop(reason)
    self.assertEqual(tally.summary(), ' Left out: 1 list, 2 redirect.')

  def test_logs_the_first_skipped_records_only(self):
    tally = tally_lib.Tally(skip_errors=True)
    with self.assertLogs(level='WARNING') as logs:
      for i in range(100):
        tally.error(errors.UserError(f'Line {i}.'))
    self.assertLen(logs.output, 20)
    self.assertIn('Line 0.', logs.output[0])
    self.assertEqual(tally.counts['unreadable'], 100)


if __name__ == '__main__':
  absltest.main()
