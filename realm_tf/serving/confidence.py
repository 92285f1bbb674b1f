"""Risk by coverage -> a picture: how often a model errs where it answers.

A model that answers only the questions with the highest probabilities has the
coverage, their share, and the risk, the share of wrong answers among them.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from realm_tf.serving import drawing

_SIZE = (10, 3.4)
_RISKS = (10, 20)  # Marked: 90 and 80 % of the answers are right.


def picture(curves: Mapping[str, Sequence[tuple[float, float]]]) -> str:
  """Returns the <svg> of curves: name -> (coverage, risk), shares.

  Curves without a right answer are left out; '' if none is left.
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
  return drawing.draw(name, _SIZE, paint)
