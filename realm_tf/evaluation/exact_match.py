"""Exact match and F1 of predictions (Section 4.1), by question."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from realm_tf.corpus import questions as questions_lib
from realm_tf.text import answers


class PerQuestion(NamedTuple):
  """Quality of the answers to Q questions.

  Attributes:
    exact: Whether each is answered exactly, bool [Q].
    f1: Word overlap with the best reference, in [0, 1], [Q]. Regular
      expressions have no words to overlap with: there it is `exact`.
  """

  exact: np.ndarray
  f1: np.ndarray


def per_question(
  predictions: Sequence[str], questions: Sequence[questions_lib.Question]
) -> PerQuestion:
  """Compares one prediction per question with its references.

  Args:
    predictions: Answers, in the order of `questions`; '' for none.
  """
  exact = [
    answers.exact_match(prediction, question.answers, question.regex)
    for prediction, question in zip(predictions, questions, strict=True)
  ]
  overlap = [
    is_exact if question.regex else answers.f1(prediction, question.answers)
    for prediction, question, is_exact in zip(predictions, questions, exact)
  ]
  return PerQuestion(np.array(exact, bool), np.array(overlap, np.float64))
