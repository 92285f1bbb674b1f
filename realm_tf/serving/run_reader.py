"""Reads run directories: series, examples, evaluations and tables."""

from collections.abc import Mapping, Sequence
import os
from typing import Any, NamedTuple

import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text
from realm_tf.config import config_files
from realm_tf.run import examples as examples_lib
from realm_tf.run import layout
from realm_tf.run import metrics_log

_EVALUATION_FILE = 'metrics.json'
_RISK_FILE = 'risk_coverage.jsonl'
_RISK = {'coverage': json_text.NUMBER, 'risk': json_text.NUMBER}
_SETS = {'sets': json_text.optional(json_text.map_of(json_text.OBJECT))}
_ROW = json_text.object_of(
  {
    'system': json_text.TEXT,
    'exact_match': json_text.optional(json_text.NUMBER),
    'recall@5': json_text.optional(json_text.NUMBER),
    'interval': json_text.optional(
      json_text.row_of(json_text.NUMBER, json_text.NUMBER)
    ),
  }
)
_EVALUATE = 'Run bin.evaluate again.'
_RESULTS = {
  'title': json_text.optional(json_text.TEXT),
  'tables': json_text.list_of(json_text.list_of(_ROW)),
}
# Metrics of a job -> its name.
_JOBS = {
  'marginal_retrieval_utility': 'Pre-training',
  'span_log_likelihood': 'Training on questions',
  'accuracy': 'Warm start',
}


class Run(NamedTuple):
  """A run directory.

  Attributes:
    name: Short name, unique among the runs.
    rows: Rows of metrics.jsonl, by step.
    series: The same numbers by metric.
    examples: Queries with candidates, written by pre-training.
  """

  name: str
  path: str
  is_done: bool
  rows: Sequence[metrics_log.Row]
  series: Mapping[str, metrics_log.Series]
  examples: Sequence[examples_lib.Example]

  @property
  def job(self) -> str:
    """Name of the kind of training, by its metrics."""
    return next((_JOBS[m] for m in _JOBS if m in self.series), 'Training')

  @property
  def last_step(self) -> int:
    """Training step of the last row."""
    return int(self.rows[-1][metrics_log.STEP])


class Evaluation(NamedTuple):
  """An --output_dir of bin.evaluate.

  Attributes:
    metrics: 'a.b' -> value.
    sets: Parts of the questions -> their metrics.
    risk: (coverage, risk) of each point of the curve, as shares.
  """

  name: str
  metrics: Mapping[str, Any]
  sets: Mapping[str, Mapping[str, Any]] = {}
  risk: Sequence[tuple[float, float]] = ()


class Results(NamedTuple):
  """A file of bin.results_table: a title, and tables as rows of cells."""

  title: str
  tables: Sequence[Sequence[Mapping[str, Any]]]


def read(paths: Sequence[str]) -> list[Run]:
  """Reads run directories; UserError for a missing or damaged file."""
  for path in paths:
    if not tf.io.gfile.isdir(path):
      raise errors.UserError(
        f'--run_dir must be the directory of a training job. Found none at '
        f'{path}. Check the path.'
      )
  return [_read(name, path) for name, path in zip(_names(paths), paths)]


def evaluations(
  runs: Sequence[Run], eval_dirs: Sequence[str]
) -> list[Evaluation]:
  """Returns the evaluations inside the runs and in `eval_dirs`."""
  found = {}  # Absolute paths as keys: a directory may have two names.
  for run in runs:
    for folder, _, files in sorted(tf.io.gfile.walk(run.path)):
      if _EVALUATION_FILE in files:
        inside = os.path.relpath(folder, run.path)
        name = run.name if inside == '.' else f'{run.name}/{inside}'
        found[_absolute(folder)] = (name, folder)
  for name, path in zip(_names(eval_dirs), eval_dirs):
    if not tf.io.gfile.exists(os.path.join(path, _EVALUATION_FILE)):
      raise errors.UserError(
        '--eval_dir must be the --output_dir of bin.evaluate. Found no '
        f'{os.path.join(path, _EVALUATION_FILE)}. Evaluate, or check the path.'
      )
    found.setdefault(_absolute(path), (name, path))
  return [_evaluation(name, folder) for name, folder in found.values()]


def results(paths: Sequence[str]) -> list[Results]:
  """Reads files of bin.results_table; UserError for any other file."""
  found = []
  for name, path in zip(_names(paths), paths):
    advice = 'Give the --output of bin.results_table as --results.'
    content = json_text.read_object(path, advice)
    json_text.check(content, _RESULTS, path, advice)
    title = content.get('title') or name.removesuffix('.json')
    found.append(Results(title.replace('_', ' '), content['tables']))
  return found


def _read(name: str, path: str) -> Run:
  rows = metrics_log.read(layout.metrics_file(path))
  return Run(
    name,
    path,
    tf.io.gfile.exists(layout.done_file(path)),
    rows,
    {**metrics_log.by_metric(rows), **_held_out(path)},
    examples_lib.read(path),
  )


def _evaluation(name: str, folder: str) -> Evaluation:
  path = os.path.join(folder, _EVALUATION_FILE)
  metrics = json_text.read_object(path)
  json_text.check(metrics, _SETS, path, _EVALUATE)
  sets = metrics.pop('sets', {})
  path, risk = os.path.join(folder, _RISK_FILE), []
  if tf.io.gfile.exists(path):
    for i, line in enumerate(input_files.read(path).splitlines(), 1):
      row = json_text.parse_object(line, f'{path}:{i}', _EVALUATE)
      json_text.check(row, _RISK, f'{path}:{i}', _EVALUATE)
      risk.append((row['coverage'], row['risk']))
  return Evaluation(name, config_files.flatten(metrics), sets, risk)


def _held_out(path: str) -> dict[str, metrics_log.Series]:
  """Returns the series of held-out metrics, if any."""
  file_name = layout.held_out_file(path)
  exists = tf.io.gfile.exists(file_name)
  if not exists or not tf.io.gfile.stat(file_name).length:
    return {}
  return metrics_log.by_metric(metrics_log.read(file_name))


def _names(paths: Sequence[str]) -> list[str]:
  """Returns the shortest ends of the paths that differ."""
  parts = [_absolute(path).split(os.sep) for path in paths]
  for length in range(1, max(map(len, parts), default=0) + 1):
    names = ['/'.join(part[-length:]) for part in parts]
    if len(set(names)) == len(names):
      return names
  return [f'{path} ({i})' for i, path in enumerate(paths, 1)]


def _absolute(path: str) -> str:
  return path.rstrip('/') if '://' in path else os.path.abspath(path)
