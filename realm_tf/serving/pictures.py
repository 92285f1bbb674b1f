"""Draws the report's pictures with matplotlib, each as an SVG file.

They are the comparison of systems, the risk by coverage, and what retrieval
learns by training step. TensorBoard has the other metrics of a run.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
import io
import os
import pathlib
import tempfile
from typing import NamedTuple

import numpy as np

from realm_tf.run import metrics_log
from realm_tf.serving import run_reader

if 'MPLCONFIGDIR' not in os.environ:  # Else in the home directory.
  _SETTINGS = tempfile.TemporaryDirectory()
  os.environ['MPLCONFIGDIR'] = _SETTINGS.name
from matplotlib import figure as figure_lib  # noqa: E402
from matplotlib import style  # noqa: E402

_STYLE = pathlib.Path(__file__).parent / 'report_static' / 'picture.mplstyle'
_NO_METADATA = dict.fromkeys(['Creator', 'Date', 'Format', 'Type'])
# Width and height in inches: about a phone, and a page.
_SMALL, _WIDE = (4.4, 2.8), (10, 3.6)
_RISKS = (10, 20)  # Marked: 90 and 80 % of the answers are right.
_MARKERS = 'osD^vPX*'
_DODGE = 0.05  # Between systems, so that their intervals stay apart.


class Panel(NamedTuple):
  """Axes with the curves of metrics of one unit.

  Attributes:
    about: Meaning of the metrics.
    metrics: Name in metrics.jsonl -> label.
  """

  title: str
  about: str
  unit: str
  metrics: dict[str, str]


PANELS = (
  Panel(
    'Retrieval utility',
    'Gain in log-likelihood over the null block (Appendix D): all candidates '
    'together, and the mean over them by p(z|x). Below 0, retrieval does harm.',
    'nats',
    {
      'marginal_retrieval_utility': 'all together',
      'block_retrieval_utility': 'mean of the blocks',
    },
  ),
  Panel(
    'Held-out recall',
    'Queries whose first blocks, without their own, hold the span.',
    'share of queries',
    {
      'held_out_recall@1': 'first block',
      'held_out_recall@5': 'first 5',
      'held_out_recall@20': 'first 20',
    },
  ),
)


class Picture(NamedTuple):
  """An SVG file, and its description for screen readers."""

  about: str
  svg: bytes

  @property
  def url(self) -> str:
    """The file as a URL, for a page that loads nothing."""
    return f'data:image/svg+xml;base64,{base64.b64encode(self.svg).decode()}'


def _draw(
  about: str,
  size: tuple[float, float],
  paint: Callable[[figure_lib.Figure], None],
) -> Picture:
  """Returns a figure's picture; equal input gives equal bytes."""
  with style.context(['default', _STYLE]):
    figure = figure_lib.Figure(figsize=size)
    paint(figure)
    file = io.BytesIO()
    figure.savefig(
      file, format='svg', metadata={'Title': about, **_NO_METADATA}
    )
  # The font of the reader's system; matplotlib measures with its own.
  return Picture(about, file.getvalue().replace(b"'DejaVu Sans'", b'system-ui'))


def learned(
  panel: Panel, runs: Mapping[str, Sequence[metrics_log.Row]]
) -> list[Picture]:
  """Returns the picture of a panel's curves, with their last values, if any.

  Values that are not finite leave a gap.

  Args:
    runs: Name of a run -> its metrics, by training step.
  """
  lines: dict[str, np.ndarray] = {}
  for run, rows in runs.items():
    for metric, label in panel.metrics.items():
      points = [(r[metrics_log.STEP], r[metric]) for r in rows if metric in r]
      if points:
        name = f'{run}, {label}' if len(runs) > 1 else label
        lines[f'{name} {points[-1][1]:.4g}'] = np.array(points).T
  if not lines:
    return []

  def paint(figure: figure_lib.Figure) -> None:
    plot = figure.subplots()
    for label, (steps, values) in lines.items():
      plot.plot(
        steps, np.where(np.isfinite(values), values, np.nan), label=label
      )
    plot.set(xlabel='training step', ylabel=panel.unit, xlim=(0, None))
    plot.xaxis.set_major_formatter('{x:,.0f}')
    figure.legend(loc='outside upper left', ncols=2)

  about = f'{panel.title} by training step: {"; ".join(lines)}'
  return [_draw(about, _SMALL, paint)]


def risk(curves: Mapping[str, Sequence[tuple[float, float]]]) -> list[Picture]:
  """Returns the picture of curves: name -> (coverage, risk), shares.

  A model that answers only the questions with the highest probabilities has
  the coverage, their share, and the risk, the share of wrong answers among
  them. Curves without a right answer are left out; [] if none is left.
  """
  curves = {
    name: points
    for name, points in curves.items()
    if any(risk < 1 for _, risk in points)
  }
  if not curves:
    return []

  def paint(figure: figure_lib.Figure) -> None:
    plot = figure.subplots()
    for name, points in curves.items():
      plot.plot(*(100 * np.array(points).T), label=name)
    for risk in _RISKS:
      plot.axhline(risk, color='C7', linewidth=0.8, linestyle=':')
    plot.set(
      xlim=(0, 100),
      ylim=(0, max(plot.dataLim.y1, 1.5 * max(_RISKS))),
      xlabel='coverage: questions that are answered, %',
      ylabel='risk: wrong answers, %',
    )
    figure.legend(loc='outside upper left', ncols=2)

  risks = '; '.join(f'{n} {100 * p[-1][1]:.1f}' for n, p in curves.items())
  about = f'Risk by coverage; if all questions are answered, in %: {risks}'
  return [_draw(about, _WIDE, paint)]


def compared(comparisons: Sequence[run_reader.Comparison]) -> Picture:
  """Returns a panel for each comparison, with a line for each system.

  A line is a point if the training questions have no numbers.
  """
  names = run_reader.systems(comparisons)

  def paint(figure: figure_lib.Figure) -> None:
    plots = figure.subplots(1, len(comparisons), sharey=True, squeeze=False)[0]
    for plot, each in zip(plots, comparisons):
      places = np.arange(len(each.numbers))
      for name, (value, low, high) in each.systems.items():
        i = names.index(name)
        plot.errorbar(
          places + _DODGE * (i - (len(names) - 1) / 2),
          value,
          np.maximum([value - low, high - value], 0),
          color=f'C{i % 8}',
          marker=_MARKERS[i % 8],
          label=name,
        )
      plot.set_title(each.title)
      plot.set_xticks(places, each.numbers)
      plot.set(ylabel=f'{each.metric}, %', ylim=(0, 100))
      if each.numbers[0]:
        plot.set_xlabel('training questions')
      plot.grid(visible=False, axis='x')
      plot.label_outer()
    handles = plots[0].get_legend_handles_labels()
    figure.legend(*handles, loc='outside upper left', ncols=4)

  return _draw('. '.join(map(str, comparisons)), _WIDE, paint)
