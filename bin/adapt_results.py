r"""Prints recall@k before and after launch/adapt.sh.

python -m bin.adapt_results --run_dir=runs/adapt
"""

import os

from . import evaluations
from . import launcher

from absl import flags

_RUN_DIR = flags.DEFINE_string(
  'run_dir', None, 'Run directory of launch/adapt.sh.', required=True
)
# Kind of query -> prefix of its metrics, name of its number and intervals.
_ROWS = {
  'Masked sentences': ('span_recall@', 'num_sentences', 'span_intervals'),
  'Questions': ('recall@', 'num_questions', 'intervals'),
}
_KS = (1, 5, 20)


def _line(what, metrics, names):
  """Returns the line about one kind of query."""
  prefix, number, intervals = names
  before, after, *bm25 = (
    ' / '.join(f'{each[f"{prefix}{k}"]:.1f}' for k in _KS) for each in metrics
  )
  low, high = metrics[1][intervals][f'{prefix}5']
  return (
    f'{what} ({metrics[1][number]}), recall@1/5/20: {before} before, {after} '
    f'after (@5: {low:.1f} to {high:.1f})'
    + ''.join(f'; BM25 {recall}' for recall in bm25)
    + '.'
  )


def _metrics(*names):
  return [
    evaluations.metrics(os.path.join(_RUN_DIR.value, f'eval_{name}'))
    for name in names
  ]


def main(_):
  metrics = _metrics('before', 'after', 'bm25')
  for what, names in _ROWS.items():
    if names[1] in metrics[1]:
      print(_line(what, metrics, names))
  if _ROWS['Questions'][1] in metrics[1]:
    hybrid = _metrics('before_hybrid', 'after_hybrid')
    what = "Questions, with BM25's scores (--sparse_weight=1)"
    print(_line(what, hybrid, _ROWS['Questions']))


if __name__ == '__main__':
  launcher.run(main)
