"""Exact match and F1 of each question's prediction (Section 4.1)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from realm_tf.corpus import questions as questions_lib
from realm_tf.text import answers


class PerQuestion(NamedTuple):
  """Quality of the answers to Q questions.

  Attributes:
    exact: Whether a prediction matches a reference exactly, bool [Q].
    f1: Word overlap with the best reference, in [0, 1], [Q]; equal to `exact`
      for a regular expression, which has no words.
  """

  exact: np.ndarray
  f1: np.ndarray


def per_question(
  predictions: Sequence[str], questions: Sequence[questions_lib.Question]
) -> PerQuestion:
  """Compares a prediction per question, '' for none, with its references."""
  exact = [
    answers.exact_match(prediction, question.answers, question.regex)
    for prediction, question in zip(predictions, questions, strict=True)
  ]
  overlap = [
    is_exact if question.regex else answers.f1(prediction, question.answers)
    for prediction, question, is_exact in zip(predictions, questions, exact)
  ]
  return PerQuestion(np.array(exact, bool), np.array(overlap, np.float64))
