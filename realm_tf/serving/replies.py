"""An answer -> the content of the page's replies."""

from typing import Any

from realm_tf.answering import answer as answer_lib
from realm_tf.text import sentences


def whole(
  answer: answer_lib.Answer, top_k: int, changed: dict[int, str]
) -> dict[str, Any]:
  """Returns an answer with the first `top_k` blocks of its evidence.

  Args:
    changed: The changed blocks' texts by id.
  """
  # p(z|x) with the null block: blocks that were not read, and the null block,
  # have `null_probability` together.
  found = 1.0 - answer.null_probability
  return {
    'question': answer.question,
    'answer': answer.prediction,
    'probability': answer.probability,
    'is_refused': answer.is_refused,
    'null_probability': answer.null_probability,
    'evidence': [
      {
        **item._asdict(),
        'sentence': _sentence(item),
        'p_z': item.retrieval_probability * found,
        'p_y': item.reading_probability,
        'changed': item.block_id in changed,
      }
      for item in answer.evidence[:top_k]
    ],
  }


def brief(answer: answer_lib.Answer) -> dict[str, Any]:
  """Returns an answer, and the sentence to show of each block."""
  return {
    'answer': answer.prediction,
    'evidence': [
      {
        'block_id': item.block_id,
        'title': item.title,
        'text': item.text,
        'start': item.start,
        'end': item.end,
        'sentence': _sentence(item),
      }
      for item in answer.evidence
    ],
  }


def _sentence(item: answer_lib.Evidence) -> tuple[int, int]:
  """Returns the characters of the sentences that hold the span."""
  touched = [
    (start, end)
    for start, end in sentences.split_sentences(item.text)
    if end > item.start and start < max(item.end, item.start + 1)
  ]
  if not touched:
    return 0, len(item.text)
  return touched[0][0], touched[-1][1]
