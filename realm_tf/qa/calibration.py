"""Scores of an answer -> the probability that it is right.

Two log-odds and a share tell how sure reader and retriever are. The product of
their probabilities is raw, without the share where null spans say whether a
block has the answer. A logistic regression of all three is calibrated: fitted
on development questions (`refusing.fit`), and stored in the model directory.
`xp` is as in `answer_choice`.

Without a calibration the null spans refuse, by Eq. 1 for them:
p(no answer|x) = sum_z p(z|x) p(null|z,x).
"""

import os
from types import ModuleType
from typing import Any, NamedTuple, Optional

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf import json_text
from realm_tf.qa import answer_choice

NAME = 'calibration.json'
# Log-odds; its probabilities are within 1e-6 of 0 and 1.
_MOST = np.float32(14)
# Log-odds of p(no answer|x) = 0.75. Of SQuAD's questions, half of them without
# their paragraph, a reader of people's questions refuses 7 % of the answerable
# ones and 62 % of the others (docs/results/real_text.md).
_MOST_NULL = np.float32(np.log(3))
_ADVICE = 'Write it again with bin.calibrate.'


class Signals(NamedTuple):
  """How sure an answer is, [B] each.

  Attributes:
    text: Log-odds of the answer's text against the other spans read.
    null: Log-odds of null spans against spans; the least without null spans.
    unread_share: Share of the blocks compared but not read, in the softmax of
      f(x,z). Its log-odds tell less: all small shares are alike.
  """

  text: Any
  null: Any
  unread_share: Any


# Choices that change the scores, each with a calibration of its own: retriever,
# sparse_weight, num_read, answer_by, and reader, the fingerprint of another
# model's parameters, which read, or ''.
Setting = dict[str, Any]


class Calibration(NamedTuple):
  """A logistic regression of `Signals`, and the threshold of refusing.

  Attributes:
    text: Coefficient of `Signals.text`; so are `null` and `unread_share`.
    threshold: An answer that is less probable is refused.
  """

  intercept: float
  text: float
  null: float
  unread_share: float
  threshold: float


class Confidence(NamedTuple):
  """Tells how probable an answer is, and whether it is refused.

  Attributes:
    calibration: None leaves probabilities raw.
    threshold: Least probability of an answer that is not refused; None takes
      the calibration's. Without any, an answer is refused if null spans are
      three times as probable as all answers.
  """

  calibration: Optional[Calibration] = None
  threshold: Optional[float] = None

  def probability(self, given: Signals, xp: ModuleType = np) -> Any:
    """Returns the probability that each answer is right, [B]."""
    if self.calibration is None:
      return (
        _sigmoid(given.text, xp)
        * _sigmoid(-given.null, xp)
        # The least log-odds are of a reader without null spans.
        * xp.where(given.null > -_MOST, np.float32(1), 1 - given.unread_share)
      )
    return _sigmoid(
      self.calibration.intercept
      + self.calibration.text * given.text
      + self.calibration.null * given.null
      + self.calibration.unread_share * given.unread_share,
      xp,
    )

  def refuses(self, probability: Any, null: Any) -> Any:
    """Returns whether each answer is refused, bool [B].

    Args:
      probability: Of the answers, 0 for a question without a span, [B].
      null: `Signals.null`, [B].
    """
    threshold = self.threshold
    if threshold is None and self.calibration:
      threshold = self.calibration.threshold
    return null > _MOST_NULL if threshold is None else probability < threshold


_FIELDS = {
  **dict.fromkeys(Calibration._fields, json_text.NUMBER),
  'setting': dict,
}


def signals(
  choice: answer_choice.Choice,
  spans: answer_choice.Spans,
  unread: Any,
  xp: ModuleType = np,
) -> Signals:
  """Returns the signals; any numbers for a question without a span.

  Args:
    unread: Share of the blocks not read in the softmax of f(x,z), [B].
  """
  everything, nulls = (
    answer_choice.log_sum_exp(each, xp)
    for each in (spans.log_normalizers, spans.log_nulls)
  )  # [B] each.
  exists = everything > answer_choice.NOTHING
  everything = xp.where(exists, everything, np.float32(0))
  share = xp.exp(xp.where(exists, choice.log_sums, -_MOST) - everything)
  share = xp.clip(share, np.float32(1e-6), np.float32(1 - 1e-6))
  return Signals(
    xp.log(share) - xp.log1p(-share),
    xp.clip(nulls - everything, -_MOST, _MOST),
    xp.clip(unread, np.float32(0), np.float32(1)),
  )


def write(calibration: Calibration, setting: Setting, model_dir: str) -> None:
  """Writes calibration.json; `read` returns it for the same setting."""
  value = {**calibration._asdict(), 'setting': setting}
  json_text.write(os.path.join(model_dir, NAME), value)


def read(model_dir: str, setting: Setting) -> Optional[Calibration]:
  """Returns the calibration in a model directory.

  None without one, or if it is of another setting.

  Raises:
    UserError: The file is damaged.
  """
  path = os.path.join(model_dir, NAME)
  if not tf.io.gfile.exists(path):
    return None
  found = json_text.read_object(path, _ADVICE)
  json_text.check(found, _FIELDS, path, _ADVICE)
  made_for = {'reader': '', **found['setting']}
  if made_for != setting:
    logging.info(
      '%s is for %s, not for %s: probabilities are not calibrated, and null '
      'spans refuse.',
      *(path, made_for, setting),
    )
    return None
  return Calibration(*(float(found[name]) for name in Calibration._fields))


def _sigmoid(values: Any, xp: ModuleType) -> Any:
  return 1 / (1 + xp.exp(-values))
