"""Tests for realm_tf.rundir.layout."""

import os

from absl.testing import absltest

from realm_tf.rundir import layout


class LayoutTest(absltest.TestCase):
  def test_names_are_those_of_the_documents(self):
    self.assertEqual(
      {
        layout.params_root('run'),
        layout.index_root('run'),
        layout.vocab_file('run'),
        layout.metrics_file('run'),
        layout.params_file('run/params/000000500'),
      },
      {
        os.path.join('run', name)
        for name in (
          'params',
          'index',
          'vocab.txt',
          'metrics.jsonl',
          'params/000000500/params.safetensors',
        )
      },
    )

  def test_no_two_things_share_a_path(self):
    paths = [
      name('run')
      for name in (
        layout.params_root,
        layout.index_root,
        layout.index_in_use_file,
        layout.checkpoint_dir,
        layout.summary_dir,
        layout.metrics_file,
        layout.examples_file,
        layout.vocab_file,
        layout.done_file,
      )
    ]
    self.assertLen(set(paths), len(paths))


if __name__ == '__main__':
  absltest.main()
