"""Tests for launch.squad_taken_out, and the table of launch.squad_refusing."""

import json
import pathlib

from absl.testing import absltest

from launch import squad_refusing
from launch import squad_taken_out

_SIZES = {
  'train': squad_taken_out.Sizes(2, 1 / 4, 100, 100),
  'dev': squad_taken_out.Sizes(1, 1 / 2, 100, 100),
  'test': squad_taken_out.Sizes(9, 1 / 2, 3, 100),
}


class SquadTakenOutTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.articles: dict[str, str] = {}  # Paragraph -> article.
    for part, titles in {'train': 'ABC', 'val': 'DEF'}.items():
      ids = [f'{title}{n}' for title in titles for n in range(4)]
      self.articles |= {each: each[0] for each in ids}
      self._write(f'{part}_corpus', [{'id': i, 'title': i[0]} for i in ids])
      questions = [
        {'id': f'{i}?{n}', 'answers': [f'{n} of {i}'], 'gold_id': i}
        for i in ids
        for n in range(2)
      ]
      self._write(f'{part}_qa', questions)

  def _write(self, name, rows):
    path = self.folder / f'{name}.jsonl'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('\n'.join(map(json.dumps, rows)))
    return str(path)

  def _divide(self, seed):
    """Returns the rows of each file."""
    paths = [
      [str(self.folder / f'{part}_{kind}.jsonl') for part in ('train', 'val')]
      for kind in ('corpus', 'qa')
    ]
    seen = self._write('seen', [{'gold_id': 'B2'}])
    output = self.folder / 'split'
    squad_taken_out.divide(*paths, seen, _SIZES, seed, str(output))
    return {
      path.stem: [*squad_taken_out.rows(str(path))]
      for path in output.glob('*.jsonl')
    }

  def test_no_article_is_in_two_splits(self):
    for seed in range(5):
      files = self._divide(seed)
      kept = {row['id'] for row in files['articles']}
      titles = {}
      for name in _SIZES:
        rows = files[name] + files[f'{name}_taken_out']
        titles[name] = {self.articles[row['gold_id']] for row in rows}
      self.assertEqual(titles['train'], {'A', 'C'})  # B has trained.
      self.assertLen(titles['dev'], 1)
      self.assertEqual(titles['dev'] | titles['test'], {*'DEF'})
      self.assertLen(kept, 2 * 3 + 3 * 2)
      self.assertLen(files['train_taken_out'], 2 * 2)
      self.assertLen(files['test'], 3)
      for name in _SIZES:
        for row in files[name]:
          self.assertIn(row['gold_id'], kept)
          self.assertNotIn('is_impossible', row)
        for row in files[f'{name}_taken_out']:
          self.assertNotIn(row['gold_id'], kept)
          self.assertTrue(row['is_impossible'])
          self.assertEqual(row['answers'], [])

  def test_the_table_compares_both_models(self):
    lost = [{'lost_answers': ['Lima']}, {'lost_answers': ['Cusco']}]
    self._write('split/test_taken_out', lost)
    for name, right, guess in (
      ('before', (True, True, False, False), 'lima'),
      ('after', (True, True, True, False), 'Arequipa'),
    ):
      test = f'eval/{name}'
      rows = [{'exact_match': each} for each in right]
      self._write(f'{test}/test/predictions', rows)
      rows = [{'prediction': guess}, {'prediction': ''}]
      self._write(f'{test}/test_taken_out/predictions', rows)
      metrics = dict.fromkeys(squad_refusing._FIELDS, 7) | {'num_impossible': 2}
      (self.folder / test / 'metrics.json').write_text(json.dumps(metrics))
    table = squad_refusing.summary(str(self.folder))
    # The change of a question has mean 25 and deviation sqrt(3) / 4.
    self.assertIn('changes by +25.0 (-17.4 to +67.4).', table)
    self.assertRegex(table, r'exact match of answerable +50\.0 +75\.0')
    self.assertRegex(table, r'lost answer given.* 50\.0 +0\.0')
    self.assertRegex(table, r'AUROC.* 7\.0 +7\.0')


if __name__ == '__main__':
  absltest.main()
