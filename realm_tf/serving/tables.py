"""Runs, evaluations, systems and configs -> tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import markupsafe

from realm_tf.serving import run_reader

_MISSING = '–'
_REFUSING = {
  'answered': 'answered',
  'exact_match_answered': 'right if answered',
  'refused_answerable': 'refused with an answer in the corpus',
  'refused_impossible': 'refused without',
  'auroc': 'AUROC',
  'coverage@80': 'coverage, 80 % right',
  'coverage@90': 'coverage, 90 % right',
  'expected_calibration_error': 'calibration error',
}


class Table(NamedTuple):
  """Cells, numbers or text; the first of a row is its heading."""

  title: str
  headings: Sequence[str]
  rows: Sequence[Sequence[Any]]


def of_systems(file: run_reader.Results) -> Table:
  """Returns all columns of bin.results_table."""
  rows = [row for table in file.tables for row in table]
  names = list(dict.fromkeys(name for row in rows for name in row))
  return Table(
    f'{file.title}: all columns',
    [name.replace('_', ' ') for name in names],
    [[row.get(name, _MISSING) for name in names] for row in rows],
  )


def of_evaluations(found: Sequence[run_reader.Evaluation]) -> Table:
  """Returns a column for each evaluation, without categories."""
  names = dict.fromkeys(name for each in found for name in each.metrics)
  return Table(
    'Evaluation: in %, or counts, and 95 % intervals',
    ['metric', *(each.name for each in found)],
    [
      [name.replace('_', ' '), *(e.metrics.get(name, _MISSING) for e in found)]
      for name in names
      if not name.startswith('categories.')
    ],
  )


def of_refusing(found: Sequence[run_reader.Evaluation]) -> Table:
  """Returns how each evaluation refuses to answer.

  Evaluations with sets have a row for each, and leave no others.
  """
  rows = []
  for each in [each for each in found if each.sets] or found:
    for name, metrics in {each.name: each.metrics, **each.sets}.items():
      if 'answered' in metrics:
        cells = [metrics.get(metric, _MISSING) for metric in _REFUSING]
        rows.append([name.replace('_', ' '), *cells])
  return Table('', ['in %', *_REFUSING.values()], rows)


def of_configs(
  runs: Sequence[run_reader.Run], defaults: Mapping[str, Any]
) -> Iterator[Table]:
  """Yields the fields that differ from the defaults, and the others.

  Values of a field that differ between runs are marked.
  """
  changed, rest = [], []
  # Fields have the order of the defaults; fields without a default come last.
  for name in {**defaults, **{n: 0 for run in runs for n in run.config}}:
    values = [run.config[name] for run in runs if name in run.config]
    if values:
      cells = [_spelled(run.config.get(name, _MISSING)) for run in runs]
      if len(set(cells)) > 1:
        cells = [markupsafe.Markup('<mark>{}</mark>').format(c) for c in cells]
      default = defaults.get(name, _MISSING)
      row = [name, *cells, _spelled(default)]
      (changed if any(v != default for v in values) else rest).append(row)
  headings = ['field', *(run.name for run in runs), 'default']
  yield Table(f'{len(changed)} changed fields', headings, changed)
  yield Table(f'{len(rest)} fields with their defaults', headings, rest)


def _spelled(value: Any) -> str:
  """Returns a value in the spelling of --set."""
  if value is None:
    return 'none'
  return str(value).lower() if isinstance(value, bool) else str(value)
