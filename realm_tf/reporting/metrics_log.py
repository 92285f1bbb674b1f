"""metrics.jsonl, which may still be growing -> steps and values by metric."""

import json
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from realm_tf import errors

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


def read(path: str) -> list[Row]:
  """Returns the rows, each with its numbers and an int 'step', increasing.

  A last line without an end is being written, and is left out. A run that was
  resumed has logged some steps twice: the last row counts.

  Raises:
    UserError: There is no file, no row in it, or a line that is no row.
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
      f'{path} must have at least one row. Found none: training logs the first '
      'one after `log_every_steps` steps. Wait for it.'
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
