"""Answers and their evidence, as JSON, as text, and as HTML in a notebook."""

from typing import Any, NamedTuple, Optional

import markupsafe

from realm_tf.config import names
from realm_tf.qa import calibration

_MARGIN = 160  # Characters on either side of a span in HTML.
_TEXT_MARGIN = 60  # The same in text.
# Colors suit a light and a dark notebook. `format` escapes all texts.
_ANSWER = markupsafe.Markup("""<div style="max-width:50em">
<p style="margin:.2em 0;opacity:.7">{}</p>
<p style="margin:.2em 0">{}<b>{}</b> {:.1%}</p>{}</div>""")
_ITEM = markupsafe.Markup("""
<div style="margin:.6em 0;padding-left:.6em;border-left:3px solid #8884">
<b>{title}</b> p(z|x) = {share:.1%}
<div role="img" aria-label="Retrieval probability {share:.1%}"
 style="background:#8883;border-radius:.25em;max-width:16em;margin:.2em 0">
<div style="background:#4c8bf5;height:.5em;width:{share:.1%}"></div></div>
{before}<mark style="background:#ffe08a;color:#000">{answer}</mark>{after}
</div>""")


class Evidence(NamedTuple):
  """One block that was read, and the span to show.

  Attributes:
    answer: text[start:end], the block's best span. With answer_by='text', the
      best span with the predicted text, if the block has one.
    retrieval_probability: p(z|x) among the blocks that were read.
    score: Score of the span, the retrieval score included.
    block_answer: The prediction if no other block were read.
    reading_probability: p(y|z,x) of this span alone: its share among the
      block's spans and its null span.
    article_id: The article's id: what its record or file gave.
  """

  block_id: int
  title: str
  text: str
  start: int
  end: int
  answer: str
  retrieval_probability: float
  score: float
  block_answer: str
  reading_probability: float = 0.0
  article_id: str = ''


class Answer(NamedTuple):
  """The best guess, and the probability that it is right.

  Attributes:
    prediction: The first evidence's answer; '' if no block could be read.
    score: Score of the best span, or log sum exp of the scores of all spans of
      the best text. None if there is no span.
    evidence: At most one per block: the prediction's evidence, then the other
      blocks by score.
    probability: Probability that the prediction is right (`calibration`). 0
      without a span.
    null_probability: Probability by the retriever that no read block has the
      answer: the other blocks' share in the softmax of f(x,z) over at most
      `config.NUM_COMPARED` blocks. 1 if no block could be read.
    is_refused: Whether the corpus does not seem to say
      (`calibration.Confidence`).
    signals: What `probability` is computed from; None without a span.
  """

  question: str
  prediction: str
  score: Optional[float]
  evidence: list[Evidence]
  probability: float = 0.0
  null_probability: float = 1.0
  is_refused: bool = False
  signals: Optional[calibration.Signals] = None

  def as_json(self) -> dict[str, Any]:
    """Returns the object for predictions.jsonl and --json."""
    fields = self._asdict()
    del fields['signals']
    return {**fields, 'evidence': [item._asdict() for item in self.evidence]}

  def as_text(self) -> str:
    """Returns a line for the answer, and a line for each block of evidence."""
    lines = [
      self.question,
      f'  {self._guess}{self.prediction or "(no answer found)"}  '
      f'({self.probability:.1%})',
    ]
    for item in self.evidence:
      before = item.text[max(0, item.start - _TEXT_MARGIN) : item.start]
      after = item.text[item.end : item.end + _TEXT_MARGIN]
      context = ' '.join(f'{before}[{item.answer}]{after}'.split())
      share = f'{item.retrieval_probability:6.1%}'
      lines.append(f'    {share}  {item.title}: ...{context}...')
    return '\n'.join(lines)

  @property
  def _guess(self) -> str:
    """Comes before the prediction of a refused question."""
    return f'{names.REFUSED} Best guess: ' if self.is_refused else ''

  def _repr_html_(self) -> str:
    """Returns HTML for notebooks, which call this method."""
    items = markupsafe.Markup().join(map(_item, self.evidence))
    return _ANSWER.format(
      self.question,
      self._guess,
      self.prediction or '(no answer found)',
      self.probability,
      items,
    )


def _item(evidence: Evidence) -> markupsafe.Markup:
  """Returns one block: title, p(z|x) and the marked span."""
  first, end = max(0, evidence.start - _MARGIN), evidence.end + _MARGIN
  before = evidence.text[first : evidence.start]
  after = evidence.text[evidence.end : end]
  return _ITEM.format(
    title=evidence.title,
    share=min(1.0, max(0.0, evidence.retrieval_probability)),
    before=f'{"…" if first else ""}{before}',
    answer=evidence.answer,
    after=f'{after}{"…" if end < len(evidence.text) else ""}',
  )
