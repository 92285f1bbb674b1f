"""Series of metrics -> groups of figures with curves and explanations."""

from collections.abc import Iterator, Sequence

from realm_tf.reporting import curves
from realm_tf.reporting import elements
from realm_tf.reporting import panels
from realm_tf.reporting import run_reader
from realm_tf.rundir import metrics_log

element = elements.element


_Line = tuple[str, int, metrics_log.Series]  # Text, color, series.


def build(runs: Sequence[run_reader.Run]) -> list[elements.Element]:
  """Returns a <section> for each group of metrics.

  A panel shows related metrics of one run, or one metric of several runs.
  """
  names = dict.fromkeys(name for run in runs for name in run.series)
  last_step = max(run.rows[-1][metrics_log.STEP] for run in runs)
  return [
    element(
      'section',
      element('h2', title),
      element(
        'div',
        *(_figure(panel, runs, last_step) for panel in group),
        class_='panels',
      ),
      id=section_id(title),
    )
    for title, group in panels.arrange(names, len(runs) > 1).items()
  ]


def section_id(title: str) -> str:
  """Returns the id of a section, for links."""
  return title.lower().replace(' ', '-')


def _figure(
  panel: panels.Panel, runs: Sequence[run_reader.Run], last_step: float
) -> elements.Element:
  lines = list(_lines(panel, runs))
  axes = curves.Axes(
    f'{panel.title}, by training step: {", ".join(panel.metrics)}',
    panel.unit,
    last_step,
    panel.from_zero,
    panel.may_be_log,
  )
  caption = element(
    'figcaption',
    element('h3', panel.title),
    element('p', panel.about) if panel.about else None,
    element('ul', *map(_legend, lines), class_='legend'),
  )
  drawing = curves.draw({color: series for _, color, series in lines}, axes)
  return element('figure', caption, drawing)


def _lines(
  panel: panels.Panel, runs: Sequence[run_reader.Run]
) -> Iterator[_Line]:
  """Yields the lines of a panel; a run has the same color in all panels."""
  if len(runs) == 1:
    for i, (name, text) in enumerate(panel.metrics.items()):
      yield text or 'at the end', i, runs[0].series[name]
    return
  [name] = panel.metrics
  for i, run in enumerate(runs):
    if name in run.series:
      yield run.name, i, run.series[name]


def _legend(line: _Line) -> elements.Element:
  """Returns a line's name and last value."""
  text, color, series = line
  last = elements.number(float(series.values[-1]))
  return element('li', curves.swatch(color), f'{text} ', element('b', last))
