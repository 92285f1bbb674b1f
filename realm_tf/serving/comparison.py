"""Files of bin.results_table -> the main comparison: figures by system.

Rows 'SYSTEM after N questions' make a line by N for each system; other rows
make a point each.
"""

from collections.abc import Mapping, Sequence
import re
from typing import Any, NamedTuple

import numpy as np
from typing_extensions import NotRequired
from typing_extensions import TypedDict

from realm_tf import json_text
from realm_tf.serving import run_reader

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


def read(paths: Sequence[str]) -> list[Comparison]:
  """Reads files of bin.results_table; UserError for any other file.

  Rows without intervals are in no comparison. Tables of the same systems after
  N questions are one comparison.
  """
  found: dict[Any, Comparison] = {}
  for name, path in run_reader.named(paths).items():
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
