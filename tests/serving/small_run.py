"""Writes small run directories for the tests of the report."""

from collections.abc import Sequence
import json
import os

from realm_tf.run import examples as examples_lib
from realm_tf.run import layout

ROWS = ({'step': 5, 'loss': 4.0}, {'step': 10, 'loss': 2.5})
EXAMPLE = examples_lib.Example(
  10,
  'the pound is a currency',
  [(4, 9)],
  [
    examples_lib.Candidate(3, 'Money', 'The Pound is used.', 0.75, 0.5, 1.25),
    examples_lib.Candidate(4, 'Weight', 'An ounce.', 0.125, 0.0001, -2.5),
    examples_lib.Candidate(None, '', '', 0.125, 0.25, 0.0),
  ],
)


def write(
  path: str,
  rows: Sequence[dict] = ROWS,
  examples: Sequence[examples_lib.Example] = (),
  metrics: dict[str, dict] | None = None,
) -> str:
  """Writes a run directory; returns its path.

  Args:
    rows: Rows of metrics.jsonl.
    examples: Content of examples.jsonl.
    metrics: Folder in the directory -> content of metrics.json.
  """
  os.makedirs(path)
  with open(layout.metrics_file(path), 'w') as file:
    file.writelines(json.dumps(row) + '\n' for row in rows)
  if examples:
    examples_lib.write(path, examples)
  for folder, values in (metrics or {}).items():
    os.makedirs(os.path.join(path, folder), exist_ok=True)
    with open(os.path.join(path, folder, 'metrics.json'), 'w') as file:
      json.dump(values, file)
  return path
