"""Tests what bin.adapt_results prints."""

import json
import os

from absl.testing import absltest

from tests import forked_binaries

_KS = (1, 5, 20)


def _metrics(first, *kinds):
  """Returns metrics.json with recall `first` and the next numbers."""
  result = {}
  for prefix, number, intervals in kinds:
    result[number] = 7
    for i, k in enumerate(_KS):
      result[f'{prefix}{k}'] = first + i
    result[intervals] = {f'{prefix}5': [first, first + 2]}
  return result


_SENTENCES = 'span_recall@', 'num_sentences', 'span_intervals'
_QUESTIONS = 'recall@', 'num_questions', 'intervals'


class AdaptResultsTest(absltest.TestCase):
  def _print(self, **metrics):
    run_dir = self.create_tempdir().full_path
    for name, values in metrics.items():
      directory = os.path.join(run_dir, f'eval_{name}')
      os.mkdir(directory)
      with open(os.path.join(directory, 'metrics.json'), 'w') as file:
        json.dump(values, file)
    flags = [f'--run_dir={run_dir}']
    return forked_binaries.run_all([('adapt_results', flags)])[0]

  def test_without_questions_a_line_about_sentences(self):
    done = self._print(
      before=_metrics(10, _SENTENCES),
      after=_metrics(20, _SENTENCES),
      bm25=_metrics(30, _SENTENCES),
    )
    self.assertEqual(
      done.stdout,
      'Masked sentences (7), recall@1/5/20: 10.0 / 11.0 / 12.0 before, 20.0 / '
      '21.0 / 22.0 after (@5: 20.0 to 22.0); BM25 30.0 / 31.0 / 32.0.\n',
    )

  def test_questions_have_a_line_with_the_scores_of_bm25_too(self):
    both = _SENTENCES, _QUESTIONS
    done = self._print(
      before=_metrics(10, *both),
      after=_metrics(20, *both),
      bm25=_metrics(30, *both),
      before_hybrid=_metrics(40, _QUESTIONS),
      after_hybrid=_metrics(50, _QUESTIONS),
    )
    lines = done.stdout.splitlines()
    self.assertLen(lines, 3)
    self.assertStartsWith(lines[1], 'Questions (7), recall@1/5/20: 10.0')
    self.assertEqual(
      lines[2],
      "Questions, with BM25's scores (--sparse_weight=1) (7), recall@1/5/20: "
      '40.0 / 41.0 / 42.0 before, 50.0 / 51.0 / 52.0 after (@5: 50.0 to 52.0).',
    )


if __name__ == '__main__':
  absltest.main()
