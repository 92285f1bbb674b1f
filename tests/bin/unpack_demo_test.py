"""Tests for bin.unpack_demo."""

import json
import pathlib

from absl.testing import absltest

from tests import forked_binaries


class UnpackDemoTest(absltest.TestCase):
  def test_both_forms_write_a_new_directory(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    predictions = folder / 'predictions.jsonl'
    right = {'id': 'country/AM/languages', 'exact_match': 1}
    predictions.write_text(json.dumps(right) + '\n')
    texts, changed = folder / 'new/texts', folder / 'new/changed'
    results = forked_binaries.run_all(
      [
        ('unpack_demo', [f'--output_dir={texts}']),
        (
          'unpack_demo',
          [f'--output_dir={changed}', f'--predictions={predictions}'],
        ),
      ]
    )
    for result in results:
      self.assertEqual(result.code, 0, result.stderr)
    before, after = (
      [json.loads(line) for line in (path / 'articles.jsonl').open()]
      for path in (texts, changed)
    )
    differ = [a != b for a, b in zip(before, after, strict=True)]
    self.assertEqual(sum(differ), 1)
    fact = json.loads((changed / 'changed.json').read_text('utf-8'))
    self.assertEqual(fact['old_answer'], 'Armenian')
    self.assertEqual(fact['new_answer'], 'French')


if __name__ == '__main__':
  absltest.main()
