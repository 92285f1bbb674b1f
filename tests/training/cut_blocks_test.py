"""Tests that training jobs refuse blocks that are too long to be read whole."""

import os

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.training import finetuning
from realm_tf.training import inverse_cloze_run
from realm_tf.training import job as job_lib
from realm_tf.training import pretraining_run
from tests import tiny

# A block of `tiny` has a title of one wordpiece and a body of 6.
_TOO_SHORT = (
  # [CLS] title [SEP] body [SEP] is 10.
  ('warm_start', {'block_tokens': 9}, {}, 'lengths.block_tokens=9, up to 10'),
  ('pretrain', {'block_tokens': 9}, {}, 'lengths.block_tokens=9, up to 10'),
  ('finetune', {'block_tokens': 9}, {}, 'lengths.block_tokens=9, up to 10'),
  # [CLS] x [SEP] has 8; body and [SEP] are 7 more.
  ('pretrain', {'joint_tokens': 14}, {}, 'lengths.joint_tokens=14, up to 15'),
  # A question has 6; with [CLS], two [SEP] and the body that is 15.
  ('finetune', {}, {'joint_tokens': 14}, 'finetuning.joint_tokens=14.* to 15'),
)


class CutBlocksTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.corpus_dir = tiny.write_corpus(self.directory)
    self.run_dir = os.path.join(self.directory, 'run')

  def _run(self, job, inputs):
    run = job_lib.Job(self.run_dir)
    if job == 'warm_start':
      inverse_cloze_run.run(inputs, [], run)
    elif job == 'pretrain':
      pretraining_run.run(inputs, self._write_queries(), run)
    else:
      finetuning.run(inputs, [], run)

  def _write_queries(self):
    ids = tiny.TOKENIZER.tokenize('a b . c d .').ids
    return tiny.write_queries(self.directory, [tiny.query(ids, [[0, 1]])])

  @parameterized.parameters(*_TOO_SHORT)
  def test_is_refused_and_leaves_no_run_directory(
    self, job, lengths, finetuning, message
  ):
    config = tiny.config(lengths=lengths, finetuning=finetuning)
    inputs = job_lib.open_inputs(config, self.corpus_dir)
    with self.assertRaisesRegex(errors.UserError, message):
      self._run(job, inputs)
    self.assertFalse(os.path.exists(self.run_dir))


if __name__ == '__main__':
  absltest.main()
