"""Opens a QA model from Python.

from realm_tf.answering import bundle
realm = bundle.load('runs/qa', 'data/corpus')
answer = realm.ask('who wrote the opera Fidelio')
answer.prediction, answer.evidence[0].title
"""

from typing import Any, Optional

from realm_tf.answering import answerer as answerer_lib
from realm_tf.answering import loading


def load(
  model_dir: str,
  corpus_dir: str,
  index_dir: Optional[str] = None,
  **choices: Any,
) -> answerer_lib.Answerer:
  """Opens a QA model; `choices` are fields of `loading.Choices`.

  Raises UserError if a part is missing, or parts do not belong together.
  """
  answerer = loading.load_answerer(
    model_dir, corpus_dir, index_dir, loading.Choices(**choices)
  )
  loading.require_reader(answerer.reader, model_dir)
  return answerer
