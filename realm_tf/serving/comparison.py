"""Tables of systems -> the main comparison: figures by system, and a picture.

Rows 'SYSTEM after N questions' make a line by N for each system; other rows
make a point each.
"""

from collections.abc import Mapping, Sequence
import re
from typing import Any, NamedTuple

import numpy as np

from realm_tf import errors
from realm_tf.serving import drawing
from realm_tf.serving import run_reader

_AFTER = re.compile(r'(.*) after (\S+) questions')
# Metrics that 'interval' may belong to.
_METRICS = {'exact_match': 'exact match', 'recall@5': 'answer in 5 blocks'}
_WIDTH, _HEIGHT, _ROW = 10, 3.6, 0.32  # Inches; of a row in pictures of points.
_MARKERS = 'osD^vPX*'
_DODGE = 0.05  # Between systems, so that their intervals stay apart.


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

  def best(self) -> str:
    """Returns the best system of the last column."""
    return max(self.systems, key=lambda name: self.systems[name][0, -1])

  def cells(self, system: str) -> list[tuple[str, bool]]:
    """Returns 'VALUE ±HALF' of each column, and whether none is higher."""
    if system not in self.systems:
      return [('', False)] * len(self.numbers)
    highest = np.max([values[0] for values in self.systems.values()], axis=0)
    return [
      (f'{value:.1f} ±{(high - low) / 2:.1f}', bool(value == most))
      for value, low, high, most in zip(*self.systems[system], highest)
    ]


def read(results: Sequence[run_reader.Results]) -> list[Comparison]:
  """Returns the comparisons in files; rows without intervals are in none.

  Tables of the same systems after N questions are one comparison.
  """
  found: dict[Any, Comparison] = {}
  for i, (title, tables) in enumerate(results):
    for j, table in enumerate(tables):
      metric = next((m for m in _METRICS if any(m in row for row in table)), '')
      rows = [row for row in table if {metric, 'interval'} <= row.keys()]
      number, names = _without_number([row['system'] for row in rows])
      values = [[row[metric], *row['interval']] for row in rows]
      if rows:
        key = i, metric, '' if number else j, *names
        old = found.get(key)
        numbers = [*(old.numbers if old else []), number]
        systems = dict(zip(names, np.array(values)[:, :, np.newaxis]))
        if old:
          systems = {n: np.hstack([old.systems[n], systems[n]]) for n in names}
        found[key] = Comparison(title, _METRICS[metric], numbers, systems)
  return list(found.values())


def _without_number(names: Sequence[str]) -> tuple[str, list[str]]:
  """Returns N, and each SYSTEM of 'SYSTEM after N questions'."""
  parts = [_AFTER.fullmatch(name) for name in names]
  numbers = {part[2] if part else '' for part in parts}
  if len(numbers) != 1 or not all(parts):
    return '', [name.replace('_', ' ') for name in names]
  [number] = numbers
  names = [part[1] for part in parts if part]
  return f'{int(number):,}' if number.isdigit() else number, names


def systems(comparisons: Sequence[Comparison]) -> list[str]:
  """Returns the names of all systems."""
  return list(dict.fromkeys(name for c in comparisons for name in c.systems))


def picture(comparisons: Sequence[Comparison], in_page: bool = True) -> str:
  """Returns the <svg> with a panel for each comparison."""
  names = systems(comparisons)
  has_lines = any(len(each.numbers) > 1 for each in comparisons)

  def paint(figure):
    plots = figure.subplots(1, len(comparisons), sharey=True, squeeze=False)[0]
    for plot, each in zip(plots, comparisons):
      plot.set_title(each.title)
      (_lines if has_lines else _points)(plot, each, names)
    if has_lines:
      figure.legend(
        *plots[0].get_legend_handles_labels(), loc='outside upper left', ncols=4
      )

  height = _HEIGHT if has_lines else _ROW * (len(names) + 3)
  text = '. '.join(map(_description, comparisons))
  return drawing.draw(text, (_WIDTH, height), paint, in_page)


def picture_file(results: Sequence[run_reader.Results]) -> str:
  """Returns the picture of `results` as a file; UserError without any."""
  comparisons = read(results)
  if not comparisons:
    raise errors.UserError(
      '--picture needs --results with a system that has an interval. '
      'Found none. Give the --output of bin.results_table.'
    )
  return picture(comparisons, in_page=False)


def _lines(plot, comparison: Comparison, names: Sequence[str]) -> None:
  """Draws lines by the number of training questions."""
  places = np.arange(len(comparison.numbers))
  for name, (value, low, high) in comparison.systems.items():
    i = names.index(name)
    plot.errorbar(
      places + _DODGE * (i - (len(names) - 1) / 2),
      value,
      np.maximum([value - low, high - value], 0),
      color=f'C{i % 8}',
      marker=_MARKERS[i % 8],
      label=name,
    )
  plot.set_xticks(places, comparison.numbers)
  plot.set(xlabel='training questions', ylabel=f'{comparison.metric}, %')
  plot.set_ylim(0, 100)
  plot.grid(visible=False, axis='x')
  plot.label_outer()


def _points(plot, comparison: Comparison, names: Sequence[str]) -> None:
  """Draws a point for each system, the first at the top."""
  for name, (value, low, high) in comparison.systems.items():
    ends = np.maximum([value - low, high - value], 0)
    plot.errorbar(value, [names.index(name)], xerr=ends, color='C0', marker='o')
  plot.set_yticks(range(len(names)), names)
  plot.set_ylim(len(names) - 0.5, -0.5)
  plot.set_xlabel(f'{comparison.metric}, %')
  plot.grid(visible=False, axis='y')


def _description(comparison: Comparison) -> str:
  figures = '; '.join(
    f'{name} {", ".join(f"{value:.1f}" for value in values[0])}'
    for name, values in comparison.systems.items()
  )
  after = f' after {", ".join(comparison.numbers)} training questions'
  return (
    f'{comparison.title}: {comparison.metric} in %'
    f'{after if comparison.numbers[0] else ""}: {figures}'
  )
