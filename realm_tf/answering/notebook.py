"""An answer as a notebook shows it: its blocks, spans marked, p(z|x) as bars.

Whatever a text holds is shown as text: `reporting.elements` escapes it. Colors
are the notebook's own, so that it can be light or dark.
"""

from xml.etree import ElementTree

from realm_tf.answering import answer as answer_lib
from realm_tf.reporting import elements

_MARGIN = 160  # Characters shown on either side of a span.
_BAR = 'background:#4c8bf5;height:.5em;border-radius:.25em;width:{:.1%}'
_MARK = 'background:#ffe08a;color:#000;border-radius:.2em;padding:0 .1em'
_ITEM = 'margin:.6em 0;padding-left:.6em;border-left:3px solid #8884'


class NotebookAnswer(answer_lib.Answer):
  """An answer that notebooks show as HTML; all fields are those of `Answer`."""

  def _repr_html_(self) -> str:
    """Returns the HTML, which is asked for by this name."""
    e = elements.element
    page = e(
      'div',
      e('p', self.question, style='margin:.2em 0;opacity:.7'),
      e(
        'p',
        e('b', self.prediction or '(no answer found)'),
        f'  {self.probability:.1%} if a block read has the answer, '
        f'{self.null_probability:.1%} that none has',
        style='margin:.2em 0',
      ),
      *map(_item, self.evidence),
      style='max-width:50em',
    )
    return ElementTree.tostring(page, encoding='unicode', method='html')


def _item(evidence):
  """Returns one block: its title, its share of p(z|x) and its span."""
  e = elements.element
  share = evidence.retrieval_probability
  first = max(0, evidence.start - _MARGIN)
  end = evidence.end + _MARGIN
  return e(
    'div',
    e('span', e('b', evidence.title), f'  p(z|x) = {share:.1%}'),
    e(
      'div',
      e('div', style=_BAR.format(min(1.0, max(0.0, share)))),
      style='background:#8883;border-radius:.25em;max-width:16em;margin:.2em 0',
      role='img',
      aria_label=f'Retrieval probability {share:.1%}',
    ),
    e(
      'span',
      '…' if first else None,
      evidence.text[first : evidence.start],
      e('mark', evidence.answer, style=_MARK),
      evidence.text[evidence.end : end],
      '…' if end < len(evidence.text) else None,
    ),
    style=_ITEM,
  )
