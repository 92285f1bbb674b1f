"""Runs docs/tutorial.ipynb and checks its results."""

import json
import os
import subprocess
import sys
import tempfile

from absl.testing import absltest

from tests import source_tree

_CELLS = json.loads(
  (source_tree.ROOT / 'docs/tutorial.ipynb').read_text(encoding='utf-8')
)['cells']
_MAX_BYTES = 150_000
# Replaces the notebook's function: a start of each binary takes five seconds.
_FORKED = """
from tests import forks
def run(binary, *flags):
  (done,) = forks.run_all([(binary, flags)])
  if done.code:
    raise RuntimeError(done.stderr[-2000:])
  return done.stdout
"""
# Runs after the cells, in their namespace.
_CHECKED = """
print(json.dumps({
  'after': after,
  'answer': answer.as_json(),
  'html': answer._repr_html_(),
  'refused': refused.as_json(),
  'newer_answer': newer_answer.as_json(),
}))
"""


def _code():
  """Returns the program of all cells."""
  cells = [''.join(c['source']) for c in _CELLS if c['cell_type'] == 'code']
  return '\n'.join([cells[0], _FORKED, *cells[1:], _CHECKED])


class TutorialTest(absltest.TestCase):
  def test_runs_and_answers_held_out_questions(self):
    with tempfile.TemporaryDirectory() as directory:
      done = subprocess.run(
        [sys.executable, '-c', _code()],
        cwd=source_tree.ROOT,
        env={
          **os.environ,
          'MPLBACKEND': 'Agg',
          'TMPDIR': directory,
          'XLA_FLAGS': '',  # Its programs run longer than they compile.
        },
        capture_output=True,
        text=True,
        check=False,
      )
    self.assertEqual(done.returncode, 0, done.stderr[-3000:])
    shown = json.loads(done.stdout.splitlines()[-1])
    # In percent of 12 questions; a guess among 20 names is right for one in 20.
    self.assertGreaterEqual(shown['after']['exact_match'], 75)
    # Fine-tuning differs from one kind of processor to another, so this one
    # answer may be wrong. It is cut from the question's block, with the new
    # fact.
    self.assertIn('<mark', shown['html'])
    # Its name is in no article.
    self.assertTrue(shown['refused']['is_refused'])
    self.assertLess(shown['refused']['probability'], 0.2)
    self.assertFalse(shown['answer']['is_refused'])
    for name, keeper in (
      ('answer', 'Simon Beck'),
      ('newer_answer', 'Flora Haig'),
    ):
      best = shown[name]['evidence'][0]
      self.assertEqual(best['title'], 'Pilot Hill')
      self.assertIn(keeper, best['text'])

  def test_the_file_has_its_outputs_and_pictures(self):
    types, kinds = set(), set()
    for cell in _CELLS:
      for output in cell.get('outputs', []):
        types.add(output['output_type'])
        kinds.update(output.get('data', {}))
    self.assertNotIn('error', types)
    self.assertContainsSubset(['image/png', 'text/html'], kinds)
    size = (source_tree.ROOT / 'docs/tutorial.ipynb').stat().st_size
    self.assertLess(size, _MAX_BYTES)


if __name__ == '__main__':
  absltest.main()
