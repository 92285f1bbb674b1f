"""Flags of questions, and of sentences in place of questions."""

from __future__ import annotations

import os
from typing import Optional

from . import input_flags
from . import launcher

from absl import flags

from realm_tf import errors
from realm_tf.corpus import beir
from realm_tf.corpus import questions

QUESTIONS = input_flags.define(
  'questions',
  'Questions: JSON, CSV or Parquet of SQuAD, DPR, KILT and others, a glob, '
  "'beir:DIR', 'tfds:NAME@SPLIT' or 'hf_disk:DIR'. It may be given several "
  'times.',
  many=True,
)
_MAX_ANSWER_TOKENS = flags.DEFINE_integer(
  'max_answer_tokens',
  None,
  'Tokens of the longest answer to keep (NQ-open: 5).',
  1,
)


def define_queries_dir() -> flags.FlagHolder[Optional[str]]:
  """Defines --queries_dir, in place of --questions."""
  holder = input_flags.define(
    'queries_dir',
    'Sentences with salient spans, from bin.make_queries, in place of '
    '--questions.',
  )
  launcher.check_flags(
    lambda queries_dir, questions: bool(queries_dir) != bool(questions),
    'One of --queries_dir and --questions must be given.',
  )
  return holder


def read(
  path: Optional[str] = None, may_lack_answers: bool = False
) -> list[questions.Question]:
  """Returns the questions of `path`, by default of every --questions."""
  return [
    question
    for each in ([path] if path else QUESTIONS.value)
    for question in questions.read_questions(
      each, _MAX_ANSWER_TOKENS.value, may_lack_answers
    )
  ]


def read_each(may_lack_answers: bool) -> dict[str, list[questions.Question]]:
  """Returns the questions of each --questions by the name of its file.

  UserError for two files of one name. Questions of BEIR may lack answers.
  """
  result: dict[str, list[questions.Question]] = {}
  for path in QUESTIONS.value or []:
    name = os.path.splitext(os.path.basename(path))[0]
    if name in result:
      raise errors.UserError(
        'Files of --questions must have different names. Found '
        f'{os.path.basename(path)} twice. Copy one to another name.'
      )
    result[name] = read(path, may_lack_answers or path.startswith(beir.PREFIX))
  return result
