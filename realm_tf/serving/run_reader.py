"""Reads run directories: series, examples and evaluations."""

from collections.abc import Mapping, Sequence
import os
from typing import Any, NamedTuple

import tensorflow as tf

from realm_tf import errors
from realm_tf import json_text
from realm_tf.run import examples as examples_lib
from realm_tf.run import layout
from realm_tf.run import metrics_log

_EVALUATION_FILE = 'metrics.json'
_RISK_FILE = 'risk_coverage.jsonl'
_RISK = {'coverage': json_text.NUMBER, 'risk': json_text.NUMBER}
_SETS = {'sets': json_text.optional(dict[str, dict])}
_EVALUATE = 'Run bin.evaluate again.'


class Run(NamedTuple):
  """A run directory.

  Attributes:
    name: Short name, unique among the runs.
    last_step: Training step of the last row of metrics.jsonl.
    series: The numbers of metrics.jsonl by metric.
    examples: Queries with candidates, written by pre-training.
  """

  name: str
  path: str
  is_done: bool
  last_step: int
  series: Mapping[str, metrics_log.Series]
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
    if not tf.io.gfile.isdir(path):
      raise errors.UserError(
        f'--run_dir must be the directory of a training job. Found none at '
        f'{path}. Check the path.'
      )
    rows = metrics_log.read(layout.metrics_file(path))
    series = metrics_log.by_metric(rows)
    held_out = layout.held_out_file(path)
    if tf.io.gfile.exists(held_out) and tf.io.gfile.stat(held_out).length:
      series |= metrics_log.by_metric(metrics_log.read(held_out))
    is_done = tf.io.gfile.exists(layout.done_file(path))
    step, examples = int(rows[-1][metrics_log.STEP]), examples_lib.read(path)
    runs.append(Run(name, path, is_done, step, series, examples))
  return runs


def evaluations(
  runs: Sequence[Run], eval_dirs: Sequence[str]
) -> list[Evaluation]:
  """Returns the evaluations inside the runs and in `eval_dirs`."""
  folders = [
    folder
    for run in runs
    for folder, _, files in sorted(tf.io.gfile.walk(run.path))
    if _EVALUATION_FILE in files
  ]
  found = []
  for name, folder in named([*folders, *eval_dirs]).items():
    path, risk = os.path.join(folder, _EVALUATION_FILE), []
    if not tf.io.gfile.exists(path):
      raise errors.UserError(
        '--eval_dir must be the --output_dir of bin.evaluate. Found no '
        f'{path}. Evaluate, or check the path.'
      )
    metrics = json_text.read_object(path)
    json_text.check(metrics, _SETS, path, _EVALUATE)
    sets = metrics.pop('sets', {})
    path = os.path.join(folder, _RISK_FILE)
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
