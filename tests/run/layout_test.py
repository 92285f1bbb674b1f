"""Tests for realm_tf.run.layout."""

import os

from absl.testing import absltest

from realm_tf.run import layout


class LayoutTest(absltest.TestCase):
  def test_names_agree_with_the_documents(self):
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


if __name__ == '__main__':
  absltest.main()
