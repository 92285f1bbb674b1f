"""Names of metrics -> panels of related metrics, with explanations.

panels.json has the panels. An unknown metric gets a panel at the end. A metric
'a/b', such as `gradient_norm/query`, is drawn in the panel of 'a'.
"""

from collections.abc import Collection, Iterator
import json
import pathlib
from typing import NamedTuple


class Panel(NamedTuple):
  """Axes with the curves of metrics of one unit.

  Attributes:
    about: Meaning of the metrics.
    metrics: Name in metrics.jsonl -> label; '' if the title is enough.
    may_be_log: Whether outliers make the axis logarithmic.
  """

  title: str
  about: str
  unit: str
  metrics: dict[str, str]
  from_zero: bool = True
  may_be_log: bool = False


_GROUPS = {
  title: [Panel(**panel) for panel in group]
  for title, group in json.loads(
    pathlib.Path(__file__).with_name('panels.json').read_text('utf-8')
  ).items()
}


def arrange(
  names: Collection[str], one_metric_each: bool
) -> dict[str, list[Panel]]:
  """Returns headings -> panels of the logged metrics."""
  left = list(names)
  groups = {}
  for title, panels in _GROUPS.items():
    groups[title] = []
    for panel in panels:
      metrics = dict(_present(panel, left))
      left = [name for name in left if name not in metrics]
      if metrics:
        groups[title].append(panel._replace(metrics=metrics))
  groups['Other'] = [
    Panel(name.replace('_', ' '), '', 'value', {name: ''}, False)
    for name in left
  ]
  if one_metric_each:
    groups = {title: [*_split(panels)] for title, panels in groups.items()}
  return {title: panels for title, panels in groups.items() if panels}


def _present(panel: Panel, names: Collection[str]) -> Iterator[tuple[str, str]]:
  """Yields (metric, label) of the panel's metrics among `names`."""
  for metric, text in panel.metrics.items():
    if metric in names:
      yield metric, text
    for name in names:
      if name.startswith(f'{metric}/'):
        yield name, name.removeprefix(f'{metric}/')


def _split(panels: Collection[Panel]) -> Iterator[Panel]:
  """Yields a panel for each metric, with the metric in the title."""
  for panel in panels:
    for name, text in panel.metrics.items():
      title = f'{panel.title}: {text}' if text else panel.title
      yield panel._replace(title=title, metrics={name: text})
