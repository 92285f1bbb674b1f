"""Writes and reads logs of measurements: a JSON object with a step per line.

metrics of a step <-> [this file] <-> metrics.jsonl, held_out_metrics.jsonl
"""

from collections.abc import Mapping
import json
from typing import Any, NamedTuple

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf.rundir import layout

STEP = 'step'
Row = dict[str, float]


class Series(NamedTuple):
  """One metric over the training.

  Attributes:
    steps: Increasing, int64 [N].
    values: NaN and infinities included, float64 [N].
  """

  steps: np.ndarray
  values: np.ndarray


def append(path: str, step: int, metrics: Mapping[str, Any]) -> Row:
  """Adds and returns a row of the metrics that are finite."""
  numbers = {name: float(f'{float(x):.8g}') for name, x in metrics.items()}
  finite = {name: x for name, x in numbers.items() if np.isfinite(x)}
  with tf.io.gfile.GFile(path, 'a') as file:
    file.write(json.dumps({STEP: step, **finite}) + '\n')
  return finite


def append_held_out(
  run_dir: str, step: int, metrics: Mapping[str, float]
) -> None:
  """Adds a row to held_out_metrics.jsonl, and the values to TensorBoard."""
  logging.info('Held out, step %d: %s', step, metrics)
  append(layout.held_out_file(run_dir), step, metrics)
  writer = tf.summary.create_file_writer(layout.summary_dir(run_dir))
  with writer.as_default(step=step):
    for name, value in metrics.items():
      tf.summary.scalar(name, value)
  writer.close()


def cut(path: str, step: int) -> None:
  """Removes rows after `step`, and a line that a crash cut off."""
  if not tf.io.gfile.exists(path):
    return
  with tf.io.gfile.GFile(path) as file:
    lines = file.read().splitlines()
  kept = [line for line in lines if _step_of(line) <= step]
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write(''.join(line + '\n' for line in kept))


def values(path: str, metric: str) -> dict[int, float]:
  """Returns step -> value of one metric; {} if the file does not exist."""
  if not tf.io.gfile.exists(path):
    return {}
  with tf.io.gfile.GFile(path) as file:
    rows = [json.loads(line) for line in file.read().splitlines()]
  return {row[STEP]: row[metric] for row in rows if metric in row}


def read(path: str) -> list[Row]:
  """Returns the rows, each with its numbers and an int 'step', increasing.

  The file may be growing: an incomplete last line is left out. A resumed run
  may have logged a step twice: the later row is used.

  Raises:
    UserError: There is no file or no row, or a line is no row.
  """
  lines = _read_lines(path)
  rows: list[Row] = []
  for number, line in enumerate(lines, 1):
    if not line.strip():
      continue
    try:
      row = _parse(line)
    except ValueError as error:
      if number == len(lines) and not line.endswith(b'\n'):
        break
      raise errors.UserError(
        f'{path}:{number} must be a JSON object with an integer "step". '
        f'Found: {error}. Fix or remove the line.'
      ) from error
    while rows and rows[-1][STEP] >= row[STEP]:
      rows.pop()
    rows.append(row)
  if not rows:
    raise errors.UserError(
      f'{path} must have at least one row. Found none: training logs the '
      'first after `log_every_steps` steps. Wait for it.'
    )
  return rows


def by_metric(rows: list[Row]) -> dict[str, Series]:
  """Returns the series of each metric, in the order of their first rows."""
  names = dict.fromkeys(name for row in rows for name in row if name != STEP)
  found = {}
  for name in names:
    having = [row for row in rows if name in row]
    found[name] = Series(
      np.array([row[STEP] for row in having], np.int64),
      np.array([row[name] for row in having], np.float64),
    )
  return found


def _read_lines(path: str) -> list[bytes]:
  try:
    with tf.io.gfile.GFile(path, 'rb') as file:
      return file.read().splitlines(keepends=True)
  except tf.errors.NotFoundError as error:
    raise errors.UserError(
      f'A run directory must hold metrics.jsonl. Found no {path}. Give the '
      '--run_dir of a training job that has logged.'
    ) from error
  except tf.errors.OpError as error:
    raise errors.UserError(
      f'{path} must be a readable file. Found: {error.message}.'
    ) from error


def _step_of(line: str) -> float:
  try:
    return json.loads(line)[STEP]
  except (ValueError, KeyError, TypeError):  # Cut off by a crash.
    return float('inf')


def _parse(line: bytes) -> Row:
  """Returns the numbers of a line; ValueError if it is no row."""
  try:
    fields = json.loads(line.rstrip())  # Bad UTF-8 is a ValueError too.
  except json.JSONDecodeError as error:
    raise ValueError(f'{error.msg} (column {error.colno})') from error
  if not isinstance(fields, dict):
    raise ValueError(f'a {type(fields).__name__}')
  step = fields.pop(STEP, None)
  if type(step) is not int or step < 0:  # To isinstance, a bool is an int.
    raise ValueError(f'"step" is {step!r}')
  numbers = {
    name: float(value)
    for name, value in fields.items()
    if type(value) in (int, float)
  }
  return {STEP: step, **numbers}
