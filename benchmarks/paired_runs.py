r"""Compares ranked articles with the first ones, by paired tests over queries.

  python -m benchmarks.paired_runs QRELS start=start.trec \
      ours=ours_0.trec,ours_1.trec ...

Runs are in TREC's format, of trec_eval, and ir-measures computes nDCG@10. A row
with several runs, one for each seed, has the mean of each query. Intervals are
the bootstrap's over queries, the p-value is of Fisher's randomization test:
each query's difference changes its sign in half of the draws.
"""

import sys

import ir_measures
import numpy as np
from scipy import stats

from realm_tf.corpus import qrels as qrels_lib
from realm_tf.evaluation import summary

_MEASURE = ir_measures.nDCG @ 10
_NUM_DRAWS = 20_000


def table(qrels_path: str, rows: dict[str, list[str]]) -> str:
  """Returns a table of `rows`, name -> runs; the first one is compared with."""
  qrels = qrels_lib.read(qrels_path)
  values = {
    name: np.mean([_values(qrels, path) for path in paths], axis=0)
    for name, paths in rows.items()
  }
  first = next(iter(values.values()))
  lines = [f'{_MEASURE}, {len(first)} queries']
  for name, each in values.items():
    ((low, high),) = summary.bootstrap(each[:, None])
    line = f'{name:20} {_shown(each)} ({100 * low:.1f} to {100 * high:.1f})'
    if each is not first:
      line += f' {100 * (each - first).mean():+.1f} p {_p(each - first):.2g}'
    lines.append(line)
  return '\n'.join(lines) + '\n'


def _values(qrels: qrels_lib.Qrels, path: str) -> np.ndarray:
  """Returns nDCG@10 of each judged query, 0 without a run, in order, [Q]."""
  run = list(ir_measures.read_trec_run(path))
  found = {
    value.query_id: value.value
    for value in ir_measures.iter_calc([_MEASURE], qrels, run)
  }
  return np.array([found.get(name, 0.0) for name in sorted(qrels)])


def _shown(values: np.ndarray) -> str:
  return f'{100 * values.mean():5.1f}'


def _p(differences: np.ndarray) -> float:
  if not differences.any():
    return 1.0
  return stats.permutation_test(
    [differences],
    np.mean,
    permutation_type='samples',
    n_resamples=_NUM_DRAWS,
    rng=np.random.default_rng(0),
  ).pvalue


def main():
  qrels, *given = sys.argv[1:]
  rows = dict(row.split('=', 1) for row in given)
  print(table(qrels, {name: row.split(',') for name, row in rows.items()}))


if __name__ == '__main__':
  main()
