"""Prints the rows of a benchmark as JSON."""

from collections.abc import Iterable, Mapping
import json
from typing import Any


def print_rows(name: str, unit: str, rows: Iterable[Mapping[str, Any]]) -> None:
  """Prints each row when it is measured, and all rows as the last line."""
  measured = []
  for row in rows:
    print(json.dumps(row), flush=True)
    measured.append(row)
  print(json.dumps({'name': name, 'unit': unit, 'rows': measured}))
