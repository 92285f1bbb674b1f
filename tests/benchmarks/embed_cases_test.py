"""Tests for benchmarks.embed_cases, whose lengths the rates stand for."""

from absl.testing import absltest
import numpy as np

from benchmarks import embed_cases


class EmbedCasesTest(absltest.TestCase):
  def test_padded_cases_have_no_padding(self):
    short, long, _ = embed_cases.cases(5, None, 288)
    for case, length in ((short, 192), (long, 288)):
      self.assertEqual(case.totals.tolist(), [length] * 5)
      titles, bodies = case.table.gather(case.block_ids, 32, length)
      # [CLS] title [SEP] body [SEP].
      used = np.count_nonzero(titles, axis=1) + np.count_nonzero(bodies, axis=1)
      self.assertEqual((used + 3).tolist(), [length] * 5)

  def test_made_up_lengths_are_mostly_near_the_limit(self):
    *_, real = embed_cases.cases(4000, None, 288)
    self.assertEqual(real.name, embed_cases.REAL)
    self.assertLessEqual(real.totals.max(), 288)
    # 7/8 lie within 40 of 288; of the others, evenly from 8 to 287, 40 / 280.
    near = np.mean(real.totals >= 288 - 40)
    self.assertAlmostEqual(near, 7 / 8 + 40 / 280 / 8, delta=0.02)

  def test_words_depend_on_the_block_alone(self):
    case = next(embed_cases.cases(5, None, 288))
    whole = case.table.gather(np.arange(5), 32, 192)
    part = case.table.gather(np.array([3, -1]), 32, 192)
    for some, all_rows in zip(part, whole, strict=True):
      np.testing.assert_array_equal(some[0], all_rows[3])
      np.testing.assert_array_equal(some[1], 0)  # The null block.
    self.assertTrue(np.any(whole[1][0] != whole[1][1]))


if __name__ == '__main__':
  absltest.main()
