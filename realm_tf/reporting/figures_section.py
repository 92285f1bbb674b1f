"""Last values of training, evaluations and systems -> tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from realm_tf.reporting import elements
from realm_tf.reporting import panels
from realm_tf.reporting import run_reader
from realm_tf.rundir import metrics_log

element = elements.element

_NO_VALUE = '–'
# Metrics to show in large type, if logged.
_HEADLINES = (
  'loss',
  'exact_match',
  'accuracy',
  'marginal_retrieval_utility',
  'p_null',
  'examples_per_second',
)


def headlines(run: run_reader.Run) -> elements.Element:
  """Returns a few values of the last row, in large type."""
  last = run.rows[-1]
  shown = {'Training step': last[metrics_log.STEP]}
  shown |= {panels.label(n): last[n] for n in _HEADLINES if n in last}
  return element(
    'dl',
    *(
      element('div', element('dt', name), element('dd', elements.number(value)))
      for name, value in shown.items()
    ),
    class_='headlines',
  )


def runs_table(runs: Sequence[run_reader.Run]) -> elements.Element:
  """Returns a table of the runs and their progress."""
  return elements.table(
    ['run', 'state', 'last step', 'rows', 'directory'],
    [
      [
        run.name,
        'ended' if run.is_done else 'not ended',
        elements.number(run.rows[-1][metrics_log.STEP]),
        elements.number(len(run.rows)),
        element('td', element('code', run.path), class_='long'),
      ]
      for run in runs
    ],
  )


def final_figures(runs: Sequence[run_reader.Run]) -> elements.Element:
  """Returns each metric's last value, and the first one of a single run."""
  groups = panels.arrange(
    dict.fromkeys(name for run in runs for name in run.series),
    one_metric_each=True,
  )
  rows = []
  for group in groups.values():
    for panel in group:
      [name] = panel.metrics
      label = element('th', panel.title, ' ', element('code', name))
      label.set('scope', 'row')
      rows.append([label, *_values(name, runs)])
  if len(runs) == 1:
    return elements.table(['metric', 'first row', 'last row'], rows, 'numbers')
  headings = ['metric, last row', *(run.name for run in runs)]
  return elements.table(headings, rows, 'numbers')


def evaluations(found: Sequence[run_reader.Evaluation]) -> elements.Element:
  """Returns a table with a column for each evaluation, without categories."""
  names = dict.fromkeys(
    name
    for e in found
    for name in e.metrics
    if not name.startswith('categories.')
  )
  return elements.table(
    ['metric', *(evaluation.name for evaluation in found)],
    [
      [
        element('code', name),
        *(_short(e.metrics.get(name, _NO_VALUE)) for e in found),
      ]
      for name in names
    ],
    'numbers',
  )


def systems(rows: Sequence[Mapping[str, Any]]) -> elements.Element:
  """Returns a table with a row for each system, from bin.results_table."""
  names = list(dict.fromkeys(name for row in rows for name in row))
  cells = [[_short(row.get(name, _NO_VALUE)) for name in names] for row in rows]
  return elements.table(names, cells, 'numbers')


def _short(value) -> str:
  """Returns a value of metrics.json as text, an interval as 'LOW to HIGH'."""
  if isinstance(value, list):
    return ' to '.join(map(elements.number, value))
  return elements.number(value)


def _values(name: str, runs: Sequence[run_reader.Run]) -> list[str]:
  rows = [run.rows[-1] for run in runs]
  if len(runs) == 1:
    rows = [runs[0].rows[0], *rows]
  return [elements.number(row.get(name, _NO_VALUE)) for row in rows]
