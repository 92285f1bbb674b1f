"""Exact match and F1 of a whole question set, in percent."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from realm_tf.corpus import questions as questions_lib
from realm_tf.text import answers


class AnswerQuality(NamedTuple):
  """Means over questions, each from 0 to 100.

  Attributes:
    exact_match: Share of questions answered exactly (Section 4.1).
    f1: Mean word overlap with the best reference. A question whose answers are
      regular expressions has no words to overlap with: there it counts as
      exact match does.
  """

  exact_match: float
  f1: float


class PerQuestion(NamedTuple):
  """Of Q questions: whether each is answered exactly, bool, and F1, [0, 1]."""

  exact: np.ndarray
  f1: np.ndarray


def per_question(
  predictions: Sequence[str], questions: Sequence[questions_lib.Question]
) -> PerQuestion:
  """Compares one prediction per question with its references.

  Args:
    predictions: Answers, in the order of `questions`; '' for none.
    questions: At least one.
  """
  if not questions or len(predictions) != len(questions):
    raise ValueError(
      'There must be one prediction per question, and at least one. Got '
      f'{len(predictions)} predictions, {len(questions)} questions.'
    )
  exact = [
    answers.exact_match(prediction, question.answers, question.regex)
    for prediction, question in zip(predictions, questions)
  ]
  overlap = [
    is_exact if question.regex else answers.f1(prediction, question.answers)
    for prediction, question, is_exact in zip(predictions, questions, exact)
  ]
  return PerQuestion(np.array(exact, bool), np.array(overlap, np.float64))


def measure(
  predictions: Sequence[str], questions: Sequence[questions_lib.Question]
) -> AnswerQuality:
  """Returns the means of `per_question`, in percent."""
  exact, f1 = per_question(predictions, questions)
  return AnswerQuality(100 * float(exact.mean()), 100 * float(f1.mean()))
