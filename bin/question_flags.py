"""The flag of questions, and the questions."""

from __future__ import annotations

import os
from typing import Optional

from . import launcher

from realm_tf import errors
from realm_tf.corpus import beir
from realm_tf.corpus import questions

QUESTIONS = launcher.existing_path(
  'questions',
  'Questions: JSON, CSV or Parquet of SQuAD, DPR, KILT and others, a glob, '
  'beir:DIR, tfds:NAME@SPLIT or hf_disk:DIR',
  many=True,
)


def read(
  path: Optional[str] = None,
  may_lack_answers: bool = False,
  keep_impossible: bool = False,
) -> list[questions.Question]:
  """Returns the questions of `path`, by default of every --questions."""
  paths = [path] if path else QUESTIONS.value or []
  return [
    question
    for each in paths
    for question in questions.read_questions(
      each, may_lack_answers, keep_impossible
    )
  ]


def read_each(may_lack_answers: bool) -> dict[str, list[questions.Question]]:
  """Returns the questions of each --questions by the name of its file.

  UserError for two files of one name. Questions of BEIR may lack answers, and
  impossible questions are kept.
  """
  result: dict[str, list[questions.Question]] = {}
  for path in QUESTIONS.value or []:
    name = os.path.splitext(os.path.basename(path))[0]
    if name in result:
      raise errors.UserError(
        'Files of --questions must have different names. Found '
        f'{os.path.basename(path)} twice. Copy one to another name.'
      )
    lacks_answers = may_lack_answers or path.startswith(beir.PREFIX)
    result[name] = read(path, lacks_answers, keep_impossible=True)
  return result
