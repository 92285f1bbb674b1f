"""Writes and reads metrics.jsonl and other logs, one step per line."""

from collections.abc import Mapping
import json
from typing import Any

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text
from realm_tf.run import layout

STEP = 'step'
_FIELDS = {STEP: json_text.COUNT}
Row = dict[str, float]


def append(path: str, step: int, metrics: Mapping[str, Any]) -> Row:
  """Adds and returns a row of the finite metrics."""
  numbers = {name: float(f'{float(x):.8g}') for name, x in metrics.items()}
  finite = {name: x for name, x in numbers.items() if np.isfinite(x)}
  with tf.io.gfile.GFile(path, 'a') as file:
    file.write(json.dumps({STEP: step, **finite}) + '\n')
  return finite


def append_held_out(
  run_dir: str, step: int, metrics: Mapping[str, float]
) -> None:
  """Adds a row to held_out_metrics.jsonl and to TensorBoard."""
  logging.info('Held out, step %d: %s', step, metrics)
  append(layout.held_out_file(run_dir), step, metrics)
  writer = tf.summary.create_file_writer(layout.summary_dir(run_dir))
  with writer.as_default(step=step):
    for name, value in metrics.items():
      tf.summary.scalar(name, value)
  writer.close()


def cut(path: str, step: int) -> None:
  """Removes rows after `step`, and an incomplete last line."""
  if tf.io.gfile.exists(path):
    kept = [row for row in _rows(path) if row[STEP] <= step]
    json_text.write_lines(path, kept)


def values(path: str, metric: str) -> dict[int, float]:
  """Returns step -> value of one metric; {} without a file."""
  if not tf.io.gfile.exists(path):
    return {}
  return {int(row[STEP]): row[metric] for row in _rows(path) if metric in row}


def read(path: str) -> list[Row]:
  """Returns the rows, by an increasing int 'step'.

  An incomplete last line is skipped: the file may be growing. A resumed run
  begins with `cut`.

  Raises:
    UserError: There is no file or no row, or a line is damaged.
  """
  rows = _rows(path) if tf.io.gfile.exists(path) else []
  if not rows:
    raise errors.UserError(
      f'A run directory must hold metrics.jsonl, with a row. Found none in '
      f'{path}: training logs the first after `log_every_steps` steps. Wait '
      'for it, or give the --run_dir of a training job.'
    )
  return rows


def _rows(path: str) -> list[Row]:
  content = input_files.read(path)
  whole = content[: content.rfind(b'\n') + 1]  # Without a line that grows.
  return [
    _parse(line, f'{path}:{number}')
    for number, line in enumerate(whole.splitlines(), 1)
    if line.strip()
  ]


def _parse(line: bytes, where: str) -> Row:
  advice = 'Fix or remove the line.'
  fields = json_text.parse_object(line, where, advice)
  json_text.check(fields, _FIELDS, where, advice)
  return {
    # By its text: an integer may have hundreds of digits.
    name: value if name == STEP else float(str(value))
    for name, value in fields.items()
    if type(value) in (int, float)  # isinstance takes a bool for an int.
  }
