"""Reads the content of the report: runs, evaluations, comparisons."""

from collections.abc import Mapping, Sequence
import os
import re
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from typing_extensions import NotRequired
from typing_extensions import TypedDict

from realm_tf import json_text
from realm_tf.qa import summary
from realm_tf.run import examples as examples_lib
from realm_tf.run import layout
from realm_tf.run import metrics_log

_RISK = {'coverage': json_text.NUMBER, 'risk': json_text.NUMBER}
_SETS = {'sets': json_text.optional(dict[str, dict])}
_EVALUATE = 'Run bin.evaluate, which writes it, or check the path.'
_AFTER = re.compile(r'(.*) after (\S+) questions')
# Metrics that 'interval' may belong to.
_METRICS = {'exact_match': 'exact match', 'recall@5': 'answer in 5 blocks'}
_Row = TypedDict(
  '_Row',
  {
    'system': str,
    'exact_match': NotRequired[json_text.NUMBER],
    'recall@5': NotRequired[json_text.NUMBER],
    'interval': NotRequired[tuple[json_text.NUMBER, json_text.NUMBER]],
  },
)
_RESULTS = {'title': json_text.optional(str), 'tables': list[list[_Row]]}
_ADVICE = 'Give the --output of bin.results_table as --results.'


class Run(NamedTuple):
  """A run directory.

  Attributes:
    name: Short name, unique among the runs.
    last_step: Training step of the last row of metrics.jsonl.
    rows: Of metrics.jsonl, then of held_out_metrics.jsonl.
    examples: Queries with candidates, written by pre-training.
  """

  name: str
  path: str
  is_done: bool
  last_step: int
  rows: Sequence[metrics_log.Row]
  examples: Sequence[examples_lib.Example]


class Evaluation(NamedTuple):
  """An --output_dir of bin.evaluate.

  Attributes:
    metrics: Name -> value.
    sets: Parts of the questions -> their metrics.
    risk: (coverage, risk) of each point of the curve, as shares.
  """

  name: str
  metrics: Mapping[str, Any]
  sets: Mapping[str, Mapping[str, Any]] = {}
  risk: Sequence[tuple[float, float]] = ()


def read(paths: Sequence[str]) -> list[Run]:
  """Reads run directories; UserError for a missing or damaged file."""
  runs = []
  for name, path in named(paths).items():
    rows = metrics_log.read(layout.metrics_file(path))
    step = int(rows[-1][metrics_log.STEP])
    held_out = layout.held_out_file(path)
    if tf.io.gfile.exists(held_out) and tf.io.gfile.stat(held_out).length:
      rows += metrics_log.read(held_out)
    is_done = tf.io.gfile.exists(layout.done_file(path))
    runs.append(Run(name, path, is_done, step, rows, examples_lib.read(path)))
  return runs


def evaluations(
  runs: Sequence[Run], eval_dirs: Sequence[str]
) -> list[Evaluation]:
  """Returns the evaluations inside the runs and in `eval_dirs`."""
  folders = [
    folder
    for run in runs
    for folder, _, files in sorted(tf.io.gfile.walk(run.path))
    if summary.METRICS in files
  ]
  found = []
  for name, folder in named([*folders, *eval_dirs]).items():
    path, risk = os.path.join(folder, summary.METRICS), []
    metrics = json_text.read_object(path, _EVALUATE)
    json_text.check(metrics, _SETS, path, _EVALUATE)
    sets = metrics.pop('sets', {})
    path = os.path.join(folder, summary.RISK_COVERAGE)
    if tf.io.gfile.exists(path):
      for where, row in json_text.read_lines(path, _EVALUATE):
        json_text.check(row, _RISK, where, _EVALUATE)
        risk.append((row['coverage'], row['risk']))
    name = f'{name}: all questions' if sets else name
    found.append(Evaluation(name.replace('_', ' '), metrics, sets, risk))
  return found


def named(paths: Sequence[str]) -> dict[str, str]:
  """Returns different paths by the shortest of their ends that differ."""
  absolute = dict.fromkeys(
    path.rstrip('/') if '://' in path else os.path.abspath(path)
    for path in paths
  )
  length, names = 0, dict[str, str]()
  while len(names) < len(absolute):
    length += 1
    names = {'/'.join(each.split('/')[-length:]): each for each in absolute}
  return names


class Comparison(NamedTuple):
  """Systems on the same questions.

  Attributes:
    metric: Name of the metric.
    numbers: Training questions of each column, such as '1,000' or 'all'; ['']
      if the rows name none.
    systems: System -> value, low end and high end in each column, [3, columns].
  """

  title: str
  metric: str
  numbers: Sequence[str]
  systems: Mapping[str, np.ndarray]

  def cells(self, system: str) -> list[tuple[str, bool]]:
    """Returns 'VALUE ±HALF' of each column, and whether none is higher."""
    if system not in self.systems:
      return [('', False)] * len(self.numbers)
    highest = np.max([values[0] for values in self.systems.values()], axis=0)
    return [
      (f'{value:.1f} ±{(high - low) / 2:.1f}', bool(value == most))
      for value, low, high, most in zip(*self.systems[system], highest)
    ]

  def __str__(self) -> str:
    """Returns all values as a sentence."""
    figures = '; '.join(
      f'{name} {", ".join(f"{value:.1f}" for value in values[0])}'
      for name, values in self.systems.items()
    )
    after = f' after {", ".join(self.numbers)} training questions'
    return (
      f'{self.title}: {self.metric} in %{after if self.numbers[0] else ""}: '
      f'{figures}'
    )


def comparisons(paths: Sequence[str]) -> list[Comparison]:
  """Reads files of bin.results_table; UserError for any other file.

  Rows without intervals are in no comparison. Tables of the same systems after
  N questions are one comparison.
  """
  found: dict[Any, Comparison] = {}
  for name, path in named(paths).items():
    content = json_text.read_object(path, _ADVICE)
    json_text.check(content, _RESULTS, path, _ADVICE)
    title = content.get('title') or name.removesuffix('.json')
    for j, table in enumerate(content['tables']):
      metric = next((m for m in _METRICS if any(m in row for row in table)), '')
      rows = [row for row in table if {metric, 'interval'} <= row.keys()]
      if not rows:
        continue
      number, names = _without_number([row['system'] for row in rows])
      columns = np.array([[row[metric], *row['interval']] for row in rows])
      systems = dict(zip(names, columns[:, :, np.newaxis]))
      new = Comparison(
        title.replace('_', ' '), _METRICS[metric], [number], systems
      )
      key = path, metric, '' if number else j, *names
      if old := found.get(key):
        joined = {n: np.hstack([old.systems[n], systems[n]]) for n in names}
        new = old._replace(numbers=[*old.numbers, number], systems=joined)
      found[key] = new
  return list(found.values())


def _without_number(names: Sequence[str]) -> tuple[str, list[str]]:
  """Returns N, and each SYSTEM of 'SYSTEM after N questions'."""
  parts = [part for part in map(_AFTER.fullmatch, names) if part]
  numbers = {part[2] for part in parts}
  if len(numbers) != 1 or len(parts) < len(names):
    return '', [name.replace('_', ' ') for name in names]
  [number] = numbers
  return (
    f'{int(number):,}' if number.isdigit() else number,
    [part[1] for part in parts],
  )


def systems(comparisons: Sequence[Comparison]) -> list[str]:
  """Returns the names of all systems."""
  return list(dict.fromkeys(name for c in comparisons for name in c.systems))
