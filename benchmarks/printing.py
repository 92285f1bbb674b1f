"""Makes and prints the rows of a benchmark."""

from collections.abc import Iterable, Mapping
import json
from typing import Any, Optional


def print_rows(name: str, unit: str, rows: Iterable[Mapping[str, Any]]) -> None:
  """Prints each row once measured, and all rows as the last line."""
  measured = []
  for row in rows:
    print(json.dumps(row), flush=True)
    measured.append(row)
  print(json.dumps({'name': name, 'unit': unit, 'rows': measured}))


def row(
  case: str, ours: Optional[float], peer: Optional[float] = None, **more: Any
) -> dict[str, Any]:
  """Returns a row; `ratio` is ours over the peer's."""
  ratio = ours / peer if ours and peer else None
  return {'case': case, 'ours': ours, 'peer': peer, 'ratio': ratio, **more}
