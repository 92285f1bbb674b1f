"""Runs, evaluations, systems and configs -> tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import markupsafe

from realm_tf.reporting import run_reader

_MISSING = '–'


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


def of_logs(job: str, runs: Sequence[run_reader.Run]) -> Table:
  """Returns each metric's last value, and the first one of a single run."""
  names = dict.fromkeys(name for run in runs for name in run.series)
  columns = {run.name: run.rows[-1] for run in runs}
  if len(runs) == 1:
    columns = {'first row': runs[0].rows[0], 'last row': runs[0].rows[-1]}
  return Table(
    f'{job}: metrics.jsonl',
    ['metric', *columns],
    [
      [name, *(row.get(name, _MISSING) for row in columns.values())]
      for name in names
    ],
  )


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
