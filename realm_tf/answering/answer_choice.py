"""The best spans of the read blocks -> which answer is given.

Either the likeliest span gives it, as in ORQA, or the likeliest text: p(y|x)
of Section 3.2 is a sum over the spans that match y, so a text that several
spans and blocks have may win against the best single span.
"""

from collections.abc import Sequence
import math
from typing import NamedTuple

from realm_tf.text import answers

BY_SPAN, BY_TEXT = 'span', 'text'


class Candidate(NamedTuple):
  """A span that may be the answer.

  Attributes:
    column: Its block, by rank of retrieval.
    start: First character in the block's text.
    end: Behind the last one.
    text: The characters.
    score: g(s), the retrieval score included.
  """

  column: int
  start: int
  end: int
  text: str
  score: float


class Choice(NamedTuple):
  """The answer given.

  Attributes:
    shown: Of each block the span to show, that of the answer first.
    score: Of the best span, or log sum exp of the text's spans.
    log_sum: log sum exp of the text's spans in both cases, which is log p(y|x)
      before it is normalized.
  """

  shown: list[Candidate]
  score: float
  log_sum: float


def choose(candidates: Sequence[Candidate], answer_by: str) -> Choice:
  """Chooses among the spans of one question.

  Texts are the same if exact match takes them for the same ("The U.S." and
  "US"); those of which it leaves nothing must be equal to the letter.

  Args:
    candidates: At least one. Of equally good ones the first wins.
    answer_by: BY_SPAN or BY_TEXT.
  """
  log_sums = _log_sums(candidates)
  best = max(candidates, key=lambda candidate: candidate.score)
  if answer_by == BY_TEXT:
    given = max(log_sums, key=log_sums.get)
    score = log_sums[given]
  else:
    given = _key(best.text)
    score = best.score
  shown = {}
  for candidate in candidates:
    rank = _rank(candidate, given, answer_by)
    kept = shown.get(candidate.column)
    if kept is None or rank > _rank(kept, given, answer_by):
      shown[candidate.column] = candidate
  ordered = sorted(
    shown.values(), key=lambda c: _rank(c, given, answer_by), reverse=True
  )
  return Choice(ordered, score, log_sums[given])


def _rank(candidate, given, answer_by):
  has_text = answer_by == BY_TEXT and _key(candidate.text) == given
  return has_text, candidate.score


def _log_sums(candidates):
  """Returns log sum exp of the scores of each text's spans."""
  largest = max(candidate.score for candidate in candidates)
  sums = {}
  for candidate in candidates:
    key = _key(candidate.text)
    weight = math.exp(candidate.score - largest)
    sums[key] = sums.get(key, 0.0) + weight
  return {
    # A span 700 below the best one weighs nothing at all.
    key: largest + math.log(total) if total else -math.inf
    for key, total in sums.items()
  }


def _key(text):
  return answers.normalize_answer(text) or text
