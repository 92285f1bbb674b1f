"""Tests for benchmarks/adapt_rivals.py and benchmarks/paired_runs.py."""

import json
import pathlib

from absl.testing import absltest

from benchmarks import adapt_rivals
from benchmarks import paired_runs
from launch import runner
from tests import tiny

_QUERIES = [f'q{number}' for number in range(8)]


class AdaptRivalsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)

  def _run(self, name, ranks):
    """Writes a run with each query's relevant document at a rank."""
    path = self._folder / name
    lines = []
    for query, rank in zip(_QUERIES, ranks, strict=True):
      found = [f'other{number}' for number in range(1, rank)] + ['good']
      lines += [
        f'{query} Q0 {document} {place} {-place} x\n'
        for place, document in enumerate(found, 1)
      ]
    path.write_text(''.join(lines))
    return str(path)

  def test_runs_are_compared_query_by_query(self):
    qrels = self._folder / 'qrels.txt'
    qrels.write_text(''.join(f'{query} 0 good 1\n' for query in _QUERIES))
    rows = {
      'first': [self._run('a', [3] * 8)],
      'seeds': [self._run('b', [1] * 8), self._run('c', [3] * 8)],
      'same': [self._run('d', [3] * 8)],
    }
    title, first, seeds, same = paired_runs.table(str(qrels), rows).splitlines()
    self.assertEqual(title, 'nDCG@10, 8 queries')
    self.assertRegex(first, r'^first +50\.0 \(50\.0 to 50\.0\)$')
    # All 8 differences have a sign: 2 of 2 ** 8 draws are as far from 0.
    self.assertRegex(seeds, r'^seeds +75\.0 .* \+25\.0 p 0\.0078$')
    self.assertRegex(same, r'^same +50\.0 .* \+0\.0 p 1$')

  def test_each_method_starts_from_the_encoder_and_has_two_evaluations(self):
    (self._folder / 'qrels').write_text('q 0 d 1\n')
    recipe = runner.Recipe(str(self._folder / 'run'))
    given = str(self._folder / 'qrels')
    adapt_rivals.stages(
      recipe, 'hf:/bert', '/articles', '/asked', qrels=given, seeds='3,4'
    )
    stages = recipe.stages
    self.assertEqual(stages['ict_4'].config.seed, 4)
    self.assertEqual(stages['tsdae_3_peer'].flags['encoder'], '/bert')
    self.assertIn('tsdae_3_peer', stages['tsdae_3'].needs)
    alone, both = stages['ndcg.txt'].flags['evaluations']
    self.assertLen(alone, 10)
    self.assertEqual([f'{n}_bm25' for n in alone if n != 'bm25'], both)

  def test_articles_are_the_sentences_of_their_blocks(self):
    corpus = tiny.write_corpus(str(self._folder))
    output = self._folder / 'sentences.jsonl'
    adapt_rivals.write_sentences(corpus, str(output))
    found = [json.loads(line)['sentences'] for line in output.open()]
    # The third article has two blocks.
    third = ['B d.', 'C e.', 'D f.', 'E a.']
    self.assertEqual(found, [['A b.', 'C d.'], ['E f.', 'A c.'], third])


if __name__ == '__main__':
  absltest.main()
