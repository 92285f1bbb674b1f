"""A model with its index, vocabulary and corpus, opened for questions.

from realm_tf.answering import bundle
realm = bundle.load('runs/qa', 'data/corpus')
answer = realm.ask('who wrote the opera Fidelio')
answer.prediction, answer.evidence[0].title
"""

from collections.abc import Sequence
import dataclasses
from typing import Any, Optional

from realm_tf import errors
from realm_tf.answering import answerer as answerer_lib
from realm_tf.answering import loading
from realm_tf.answering import notebook


@dataclasses.dataclass(frozen=True)
class Bundle:
  """Answers questions; made by `load`.

  Attributes:
    answerer: What it is made of.
  """

  answerer: answerer_lib.Answerer

  def ask(
    self, question: str, top_k: Optional[int] = None
  ) -> notebook.NotebookAnswer:
    """Returns the answer to one question.

    Args:
      question: Any text.
      top_k: Blocks of evidence; by default, all that were read.
    """
    return self.ask_all([question], top_k)[0]

  def ask_all(
    self, questions: Sequence[str], top_k: Optional[int] = None
  ) -> list[notebook.NotebookAnswer]:
    """Returns the answers to many questions, in order; sooner than one by one.

    Args:
      questions: Any number.
      top_k: See `ask`.
    """
    answers = self.answerer.answer(questions, top_k)
    return [notebook.NotebookAnswer(*answer) for answer in answers]


def load(
  model_dir: str,
  corpus_dir: str,
  index_dir: Optional[str] = None,
  **choices: Any,
) -> Bundle:
  """Opens a QA model.

  Args:
    model_dir: From bin.finetune.
    corpus_dir: To search.
    index_dir: See `loading.load`.
    **choices: Those of `loading.Choices`: `num_read`, `answer_by`,
      `reader_dir`, `sparse_weight`, `read_dtype`.

  Raises:
    UserError: Something is missing, or does not belong together.
  """
  answerer = loading.load_answerer(
    model_dir, corpus_dir, index_dir, loading.Choices(**choices)
  )
  if answerer.reader is None:
    raise errors.UserError(
      f'A model must read answers to be asked. Found no reader in {model_dir}. '
      'Make one with bin.finetune, or give a reader_dir.'
    )
  return Bundle(answerer)
