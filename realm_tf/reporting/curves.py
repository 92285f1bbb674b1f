"""Series of a metric -> curves as inline SVG, drawn by matplotlib.

Colors and font come from the page (custom properties of `page_style`), so that
a drawing suits light and dark pages.
"""

from collections.abc import Mapping
import io
import re
from typing import NamedTuple
from xml.etree import ElementTree

import matplotlib
from matplotlib import figure as figure_lib
from matplotlib import style
from matplotlib import ticker
import numpy as np

from realm_tf.reporting import elements
from realm_tf.rundir import metrics_log

NUM_COLORS = 8  # More curves repeat the colors.
_SIZE = (4.4, 2.4)  # Inches of 72 points: about the size on a phone.
_MAX_POINTS = 200  # More points would not be visible.
_FEW_POINTS = 30  # Curves of at most 30 points show dots.
# Colors in matplotlib's drawing -> colors on the page.
_INK, _GRID = '#00ff01', '#00ff02'
_ON_PAGE = {
  _INK: 'var(--muted)',
  _GRID: 'var(--line)',
  **{f'#0000f{i:x}': f'var(--curve-{i})' for i in range(NUM_COLORS)},
}
_STYLE = {
  'axes.edgecolor': _GRID,
  'axes.formatter.limits': (-4, 6),
  'axes.formatter.useoffset': False,
  'axes.grid': True,
  'axes.labelcolor': _INK,
  'axes.spines.right': False,
  'axes.spines.top': False,
  'figure.constrained_layout.use': True,
  'font.size': 9.5,
  'grid.color': _GRID,
  'grid.linewidth': 0.6,
  'lines.linewidth': 1.6,
  'svg.fonttype': 'none',  # Text stays text, in the font of the page.
  'text.color': _INK,
  'text.parse_math': False,
  'xtick.color': _GRID,
  'xtick.labelcolor': _INK,
  'ytick.color': _GRID,
  'ytick.labelcolor': _INK,
}
_WIDE = 20  # A maximum above 20 medians makes an axis logarithmic.
_MARGIN = 0.06  # Share of the axis above the highest value.
_TICKS = [1, 2, 2.5, 5, 10]  # Multiples of powers of 10.
_NO_METADATA = dict.fromkeys(['Creator', 'Date', 'Format', 'Type'])
_FONT_FAMILY = re.compile(r'font-family:[^;]*;?|font: [^;]*;?')


class Axes(NamedTuple):
  """The axes of a drawing.

  Attributes:
    name: Description for screen readers; unique on a page.
    may_be_log: Whether a few very high values make the axis logarithmic.
  """

  name: str
  unit: str
  last_step: float
  from_zero: bool
  may_be_log: bool = False


def draw(
  curves: Mapping[int, metrics_log.Series], axes: Axes
) -> ElementTree.Element:
  """Returns an <svg> with curve i in the page's color --curve-i.

  Values that are not finite leave a gap. A long curve shows means of
  neighbours, with a band from the lowest to the highest value.
  """
  # The salt makes ids unique on the page.
  salt = {'svg.hashsalt': axes.name}
  with style.context('default'), matplotlib.rc_context({**_STYLE, **salt}):
    figure = figure_lib.Figure(figsize=_SIZE)
    plot = figure.subplots()
    for i, curve in curves.items():
      _plot(plot, curve, f'#0000f{i % NUM_COLORS:x}')
    _scale(plot, axes)
    if axes.may_be_log and _is_wide(curves):
      _make_log(plot)
    file = io.StringIO()
    figure.savefig(file, format='svg', transparent=True, metadata=_NO_METADATA)
  return _inline(ElementTree.fromstring(file.getvalue()), axes.name)


def _plot(plot, curve: metrics_log.Series, color: str) -> None:
  values = np.where(np.isfinite(curve.values), curve.values, np.nan)
  steps, low, mean, high = _thinned(curve.steps, values)
  few = len(steps) <= _FEW_POINTS
  plot.plot(
    steps,
    mean,
    color=color,
    marker='o' if few else '',
    markersize=3,
    clip_on=False,  # The last point is on the edge.
  )
  if len(steps) < len(values):
    plot.fill_between(steps, low, high, color=color, alpha=0.2, linewidth=0)


def _thinned(steps: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, ...]:
  """Returns (step, lowest, mean, highest) of groups of neighbours, [n] each."""
  per_point = -(-len(values) // _MAX_POINTS)
  firsts = np.arange(0, len(values), per_point)
  counts = np.diff([*firsts, len(values)])
  mean = np.add.reduceat(values, firsts) / counts
  return (
    steps[firsts + counts - 1],
    np.minimum.reduceat(values, firsts),
    mean,
    np.maximum.reduceat(values, firsts),
  )


def _scale(plot, axes: Axes) -> None:
  plot.set_xlim(0, max(axes.last_step, 1))
  plot.set_xlabel('training step')
  plot.set_ylabel(axes.unit)
  plot.tick_params(length=0)
  plot.set_axisbelow(True)
  plot.xaxis.set_major_locator(
    ticker.MaxNLocator(5, integer=True, steps=_TICKS)
  )
  plot.xaxis.set_major_formatter(ticker.StrMethodFormatter('{x:,.0f}'))
  plot.yaxis.set_major_locator(ticker.MaxNLocator(5, steps=_TICKS))
  low, high = plot.dataLim.intervaly  # Not finite without any value.
  if axes.from_zero and np.isfinite(high):
    low = min(0.0, low)
    plot.set_ylim(low, high + _MARGIN * (high - low) or 1.0)


def _is_wide(curves: Mapping[int, metrics_log.Series]) -> bool:
  """Returns whether values are positive, and some far above the median."""
  values = np.concatenate([curve.values for curve in curves.values()])
  values = values[np.isfinite(values)]
  return (
    bool(len(values))
    and values.min() > 0
    and values.max() > _WIDE * np.median(values)
  )


def _make_log(plot) -> None:
  plot.set_yscale('log')
  plot.autoscale(axis='y')
  plot.yaxis.set_major_formatter(ticker.StrMethodFormatter('{x:g}'))
  plot.yaxis.set_minor_locator(ticker.NullLocator())
  plot.set_ylabel(f'{plot.get_ylabel()}, logarithmic')


def _inline(svg: ElementTree.Element, name: str) -> ElementTree.Element:
  """Makes matplotlib's <svg> a part of a page."""
  for parent in svg.iter():
    for child in list(parent):
      # The drawing's style sheet would apply to the whole page.
      if child.find('{*}style') is not None:
        parent.remove(child)
  for node in svg.iter():
    node.tag = _local(node.tag)
    # Drops matplotlib's indentation, a fifth of the page.
    node.text = (node.text or '').strip() or None
    node.tail = None
    node.attrib = {_local(k): _on_page(v) for k, v in node.attrib.items()}
    if node.tag == 'g':
      node.attrib.pop('id', None)  # 'axes_1' is in every drawing.
  svg.attrib = {'viewBox': svg.attrib['viewBox']}
  svg.attrib |= {'class': 'curves', 'role': 'img', 'aria-label': name}
  return svg


def _local(name: str) -> str:
  """Removes the namespace of a tag or attribute; HTML needs none."""
  return name.rpartition('}')[2]


def _on_page(value: str) -> str:
  for stand_in, color in _ON_PAGE.items():
    value = value.replace(stand_in, color)
  return _FONT_FAMILY.sub('', value)


def swatch(i: int) -> elements.Element:
  """Returns a dot in the color of curve `i`, for a legend."""
  color = f'--color: var(--curve-{i % NUM_COLORS})'
  return elements.element('span', class_='swatch', style=color)
