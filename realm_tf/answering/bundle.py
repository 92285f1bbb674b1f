"""A model with its index, vocabulary and corpus, opened for questions.

from realm_tf.answering import bundle
realm = bundle.load('runs/qa', 'data/corpus')
answer = realm.ask('who wrote the opera Fidelio')
answer.prediction, answer.evidence[0].title
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from realm_tf.answering import answer as answer_lib
from realm_tf.answering import answerer as answerer_lib
from realm_tf.answering import loading


class Bundle(NamedTuple):
  """Answers questions; made by `load`."""

  answerer: answerer_lib.Answerer

  def ask(
    self, question: str, top_k: Optional[int] = None
  ) -> answer_lib.Answer:
    """Answers one question, with `top_k` blocks of evidence, by default all."""
    return self.ask_all([question], top_k)[0]

  def ask_all(
    self, questions: Sequence[str], top_k: Optional[int] = None
  ) -> list[answer_lib.Answer]:
    """Answers many questions, in order; faster than one by one."""
    return self.answerer.answer(questions, top_k)


def load(
  model_dir: str,
  corpus_dir: str,
  index_dir: Optional[str] = None,
  **choices: Any,
) -> Bundle:
  """Opens a QA model.

  Args:
    **choices: Fields of `loading.Choices`: `num_read`, `answer_by`,
      `reader_dir`, `sparse_weight`, `read_dtype`.

  Raises:
    UserError: Something is missing, or does not belong together.
  """
  answerer = loading.load_answerer(
    model_dir, corpus_dir, index_dir, loading.Choices(**choices)
  )
  loading.require_reader(answerer.reader is not None, model_dir)
  return Bundle(answerer)
