"""Draws what retrieval learns by training step, and the risk by coverage.

TensorBoard has the other metrics of a run: `tensorboard --logdir=RUN_DIR`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from realm_tf.run import metrics_log
from realm_tf.serving import drawing
from realm_tf.serving import templates

_SIZE = np.array([4.4, 2.6])  # About the size on a phone.
_LEGEND_ROW = np.array([0, 0.2])
_MAX_POINTS = 200  # More points would not be visible.
_FEW_POINTS = 30  # Curves of at most 30 points show dots.
_RISK_SIZE = (10, 3.4)
_RISKS = (10, 20)  # Marked: 90 and 80 % of the answers are right.


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


def learned(
  panel: Panel, runs: Mapping[str, Mapping[str, metrics_log.Series]]
) -> str:
  """Returns the <svg> of a panel's curves, with their last values, or ''.

  Values that are not finite leave a gap. A long curve shows means of
  neighbours, with a band from the lowest to the highest value.

  Args:
    runs: Name of a run -> its series by metric.
  """
  lines = [
    (f'{run}, {label}' if len(runs) > 1 else label, series[metric])
    for run, series in runs.items()
    for metric, label in panel.metrics.items()
    if metric in series
  ]
  if not lines:
    return ''
  texts = [
    f'{label} {templates.number(float(series.values[-1]))}'
    for label, series in lines
  ]

  def paint(figure):
    plot = figure.subplots()
    for i, (text, (_, series)) in enumerate(zip(texts, lines)):
      _plot(plot, series, text, i)
    plot.set(xlabel='training step', ylabel=panel.unit, xlim=(0, None))
    plot.xaxis.set_major_formatter('{x:,.0f}')
    plot.locator_params(nbins=5, steps=[1, 2, 2.5, 5, 10])
    plot.locator_params(axis='x', integer=True)
    figure.legend(loc='outside upper left', ncols=2)

  name = f'{panel.title} by training step: {"; ".join(texts)}'
  size = _SIZE + _LEGEND_ROW * ((len(lines) - 1) // 2)
  return drawing.draw(name, size, paint)


def _plot(plot, series: metrics_log.Series, text: str, color: int) -> None:
  values = np.where(np.isfinite(series.values), series.values, np.nan)
  per_point = -(-len(values) // _MAX_POINTS)
  firsts = np.arange(0, len(values), per_point)
  counts = np.diff([*firsts, len(values)])
  steps = series.steps[firsts + counts - 1]
  style = {'color': f'C{color % 8}'}
  plot.plot(
    steps,
    np.add.reduceat(values, firsts) / counts,
    label=text,
    marker='o' if len(steps) <= _FEW_POINTS else '',
    markersize=3,
    clip_on=False,  # The last point is on the edge.
    **style,
  )
  if per_point > 1:
    low = np.minimum.reduceat(values, firsts)
    high = np.maximum.reduceat(values, firsts)
    plot.fill_between(steps, low, high, alpha=0.2, linewidth=0, **style)


def risk(curves: Mapping[str, Sequence[tuple[float, float]]]) -> str:
  """Returns the <svg> of curves: name -> (coverage, risk), shares.

  A model that answers only the questions with the highest probabilities has
  the coverage, their share, and the risk, the share of wrong answers among
  them. Curves without a right answer are left out; '' if none is left.
  """
  curves = {
    name: points
    for name, points in curves.items()
    if any(risk < 1 for _, risk in points)
  }
  if not curves:
    return ''

  def paint(figure):
    plot = figure.subplots()
    for i, (name, points) in enumerate(curves.items()):
      coverage, risk = 100 * np.array(points).T
      plot.plot(coverage, risk, color=f'C{i % 8}', label=name)
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
  name = f'Risk by coverage; if all questions are answered, in %: {risks}'
  return drawing.draw(name, _RISK_SIZE, paint)
