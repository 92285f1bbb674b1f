"""metrics.jsonl of a run: the log as numbers, a JSON object a row."""

from collections.abc import Mapping
import json
from typing import Any

import tensorflow as tf


def append(path: str, row: Mapping[str, float]) -> None:
  """Adds a row."""
  with tf.io.gfile.GFile(path, 'a') as file:
    file.write(json.dumps(row) + '\n')


def cut(path: str, step: int) -> None:
  """Removes the rows of steps that will be done once more."""
  if not tf.io.gfile.exists(path):
    return
  with tf.io.gfile.GFile(path) as file:
    lines = file.read().splitlines()
  kept = [line for line in lines if _step_of(line) <= step]
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write(''.join(line + '\n' for line in kept))


def _step_of(line: str) -> float:
  try:
    return json.loads(line)['step']
  except (ValueError, KeyError, TypeError):  # Cut off by a crash.
    return float('inf')


def row(output: Mapping[str, Any]) -> dict[str, float]:
  """Returns what JSON can hold: a mean over no good step is left out."""
  row = {name: float(f'{float(value):.8g}') for name, value in output.items()}
  return {name: value for name, value in row.items() if value - value == 0}


def short(row: Mapping[str, float]) -> str:
  """Returns what a progress bar has room for."""
  names = ('loss', 'accuracy', 'marginal_retrieval_utility', 'exact_match')
  return ', '.join(f'{name} {row[name]:.3g}' for name in names if name in row)
