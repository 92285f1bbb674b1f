"""Tests for launch.own_text_choice: the search that measured best."""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized

from launch import own_text_choice

_PLACES = {
  'bm25': 'bm25',
  'before': 'before/sparse_0',
  'before+': 'before/sparse_0.7',
  'after': 'after/sparse_0',
  'after+': 'after/sparse_0.7',
  'qa+': 'qa/sparse_0.7',
}


class ChooseTest(parameterized.TestCase):
  def _choose(self, hits, models=('before', 'after'), kind='span_', exact=None):
    """Chooses by search -> number of hits among 50."""
    root = self.create_tempdir()
    for name, number in hits.items():
      recall = 2.0 * number
      metrics = {
        'num_sentences' if kind else 'num_questions': 50,
        f'{kind}recall@5': recall,
        f'{kind}intervals': {f'{kind}recall@5': [recall - 4, recall + 4]},
      }
      if name in (exact or {}):
        metrics['exact_match'] = exact[name]
      place = _PLACES[name]
      root.create_file(f'{place}/metrics.json', json.dumps(metrics))
      ranks = [5] * number + [None, 6] * 25
      lines = [{f'{kind or "answer_"}rank': rank} for rank in ranks[:50]]
      file = 'span_ranks' if kind else 'predictions'
      root.create_file(
        f'{place}/{file}.jsonl', '\n'.join(map(json.dumps, lines))
      )
    folders = dict.fromkeys(_PLACES[name].split('/')[0] for name in hits)
    path = os.path.join(root.full_path, 'choice.json')
    own_text_choice.choose(
      list(models),
      [os.path.join(root.full_path, folder) for folder in folders],
      [],
      path,
    )
    with open(path) as file:
      return json.load(file)

  @parameterized.parameters(
    # Hits of BM25, before, before + BM25, after, after + BM25.
    ((20, 21, 25, 21, 31), ('after', 0.7, 'model')),
    ((20, 21, 26, 21, 24), ('before', 0.7, 'model')),
    ((20, 21, 25, 31, 31), ('after', 0.0, 'model')),
    ((31, 21, 25, 21, 26), ('after', 0.0, 'bm25')),
    # Equal: training brought nothing, so the start is handed over.
    ((20, 21, 26, 26, 26), ('before', 0.7, 'model')),
    ((26, 26, 26, 26, 26), ('after', 0.0, 'bm25')),
    # A lead of 5 questions may be chance: 2 * 0.5 ** 5 = 0.06; of 6, 0.03.
    ((20, 21, 26, 21, 31), ('before', 0.7, 'model')),
    ((20, 21, 26, 21, 32), ('after', 0.7, 'model')),
  )
  def test_more_training_must_be_clearly_better(self, hits, expected):
    names = ('bm25', 'before', 'before+', 'after', 'after+')
    choice = self._choose(dict(zip(names, hits, strict=True)))
    fields = 'model', 'sparse_weight', 'retriever'
    self.assertEqual(tuple(choice[field] for field in fields), expected)

  @parameterized.parameters((30, 31, True), (31, 30, False))
  def test_the_better_reader_reads(self, after, qa, reads_qa):
    choice = self._choose(
      {'bm25': 10, 'after+': 20, 'qa+': 40},
      ['after', 'qa'],
      kind='',
      exact={'after+': after, 'qa+': qa},
    )
    self.assertEqual((choice['model'], choice['reads_qa']), ('qa', reads_qa))
    self.assertIn('Held out: 50 questions', choice['text'])
    self.assertIn(f'80.0 (76.0 to 84.0), exact answers {qa}', choice['text'])

  @parameterized.parameters(
    (['before', 'after'], ('before', 0.7, 'model', False)),
    (['after'], ('after', 0.0, 'bm25', False)),
    (['after', 'qa'], ('qa', 0.0, 'bm25', True)),
  )
  def test_without_a_measure_the_start_is_kept(self, models, expected):
    choice = self._choose({}, models)
    text = choice.pop('text')
    self.assertEqual(tuple(choice.values()), (
      expected[0], expected[2], expected[1], expected[3]
    ))  # fmt: skip
    self.assertIn('too little text is held out', text)

  def test_the_text_has_a_row_for_each_model(self):
    hits = {'bm25': 20, 'before': 18, 'after': 21, 'after+': 40}
    text = self._choose(hits)['text']
    self.assertIn('50 masked sentences', text)
    self.assertRegex(text, r'any training +36\.0 \(32\.0 to 40\.0\)\n')
    self.assertRegex(text, r'text +42\.0 \(.*\) +with BM25 80\.0 \(76\.0')
    self.assertIn('model after learning from the text and BM25: no other', text)


if __name__ == '__main__':
  absltest.main()
