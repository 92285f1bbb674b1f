"""Series of metrics -> a picture of a panel."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from realm_tf.run import metrics_log
from realm_tf.serving import drawing
from realm_tf.serving import panels
from realm_tf.serving import templates

_SIZE = np.array([4.4, 2.6])  # About the size on a phone.
_LEGEND_ROW = np.array([0, 0.2])
_MAX_POINTS = 200  # More points would not be visible.
_FEW_POINTS = 30  # Curves of at most 30 points show dots.
_WIDE = 20  # A maximum above 20 medians makes an axis logarithmic.


class Line(NamedTuple):
  """A curve, with the number of its color."""

  label: str
  color: int
  series: metrics_log.Series

  def text(self) -> str:
    """Returns the label with the last value."""
    return f'{self.label} {templates.number(float(self.series.values[-1]))}'


def picture(
  panel: panels.Panel, lines: Sequence[Line], job: str, last_step: float
) -> str:
  """Returns the <svg> of a panel's curves, with their last values.

  Values that are not finite leave a gap. A long curve shows means of
  neighbours, with a band from the lowest to the highest value.
  """

  def paint(figure):
    plot = figure.subplots()
    for line in lines:
      _plot(plot, line)
    _scale(plot, panel, lines)
    plot.set_xlim(0, max(last_step, 1))
    figure.legend(loc='outside upper left', ncols=2)

  metrics = ', '.join(panel.metrics)
  last = '; '.join(line.text() for line in lines)
  name = f'{job}, {panel.title} ({metrics}) by training step: {last}'
  size = _SIZE + _LEGEND_ROW * ((len(lines) - 1) // 2)
  return drawing.draw(name, size, paint)


def _plot(plot, line: Line) -> None:
  finite = np.isfinite(line.series.values)
  values = np.where(finite, line.series.values, np.nan)
  per_point = -(-len(values) // _MAX_POINTS)
  firsts = np.arange(0, len(values), per_point)
  counts = np.diff([*firsts, len(values)])
  steps = line.series.steps[firsts + counts - 1]
  style = {'color': f'C{line.color % 8}'}
  plot.plot(
    steps,
    np.add.reduceat(values, firsts) / counts,
    label=line.text(),
    marker='o' if len(steps) <= _FEW_POINTS else '',
    markersize=3,
    clip_on=False,  # The last point is on the edge.
    **style,
  )
  if per_point > 1:
    low = np.minimum.reduceat(values, firsts)
    high = np.maximum.reduceat(values, firsts)
    plot.fill_between(steps, low, high, alpha=0.2, linewidth=0, **style)


def _scale(plot, panel: panels.Panel, lines: Sequence[Line]) -> None:
  values = np.concatenate([line.series.values for line in lines])
  values = values[np.isfinite(values)]
  low, high = min(values, default=0.0), max(values, default=0.0)
  plot.set(xlabel='training step', ylabel=panel.unit)
  plot.xaxis.set_major_formatter('{x:,.0f}')
  plot.locator_params(nbins=5, steps=[1, 2, 2.5, 5, 10])
  plot.locator_params(axis='x', integer=True)
  if panel.may_be_log and low > 0 and high > _WIDE * np.median(values):
    plot.set_yscale('log')
    plot.yaxis.set_major_formatter('{x:g}')
    plot.minorticks_off()
    plot.set_ylabel(f'{panel.unit}, logarithmic')
  elif panel.from_zero and low >= 0:
    plot.set_ylim(0, 1.06 * high or 1.0)
