"""Tests for realm_tf.training.candidate_report."""

import glob
import types

import numpy as np
import tensorflow as tf

from realm_tf.rundir import layout
from realm_tf.training import candidate_report
from tests import fakes
from tests import tiny


def _texts(summary_dir):
  """Yields (step, text) of the text summaries in a directory."""
  for path in glob.glob(f'{summary_dir}/*'):
    for record in tf.data.TFRecordDataset(path).as_numpy_iterator():
      event = tf.compat.v1.Event.FromString(record)
      for value in event.summary.value:
        yield event.step, value.tensor.string_val[0].decode()


class CandidateReportTest(tf.test.TestCase):
  def test_writes_the_candidates_best_first(self):
    run_dir = self.create_tempdir().full_path
    mask_id = tiny.TOKENIZER.mask_id
    word = tiny.TOKENIZER.vocabulary.index
    trainer = types.SimpleNamespace(
      global_step=tf.Variable(7),
      last_batch={
        'query_ids': np.array([[word('a'), mask_id, 0]], np.int32),
        'gold_ids': np.array([[word('b'), 0]], np.int32),
        'token_mask': np.array([[1.0, 0.0]], np.float32),
        'candidate_ids': np.array([[-1, 1]], np.int32),
      },
      # p(z|x) = [1/4, 3/4] and p(y|z,x) = [0.1, 0.9].
      score=lambda batch: (
        tf.math.log([[1.0, 3.0]]),
        tf.math.log([[[0.1, 1.0], [0.9, 1.0]]]),
      ),
    )
    table = fakes.FakeTable(tiny.TOKENIZER, ['A', 'C'], ['a b.', 'c |\nd.'])

    candidate_report.write(trainer, table, tiny.TOKENIZER, run_dir)

    [(step, text)] = _texts(layout.summary_dir(run_dir))
    self.assertEqual(step, 7)
    self.assertEqual(
      text.splitlines(),
      [
        '**a [MASK]** (b)',
        '',
        '| p(z\\|x) | p(y\\|z,x) | block |',
        '|---|---|---|',
        '| 0.750 | 0.900 | C: c / d. |',
        '| 0.250 | 0.100 | (null block) |',
      ],
    )


if __name__ == '__main__':
  tf.test.main()
