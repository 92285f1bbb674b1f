"""Flags of questions, and of sentences in place of questions."""

from typing import Optional

from . import launcher

from absl import flags

from realm_tf.corpus import questions

QUESTIONS = flags.DEFINE_string(
  'questions',
  None,
  'Questions: JSON, CSV or Parquet of SQuAD, DPR, KILT and others, a glob, '
  "'beir:DIR', 'tfds:NAME@SPLIT' or 'hf_disk:DIR'.",
)
_MAX_ANSWER_TOKENS = flags.DEFINE_integer(
  'max_answer_tokens',
  None,
  'Tokens of the longest answer to keep (NQ-open: 5).',
  1,
)


def define_queries_dir() -> flags.FlagHolder[Optional[str]]:
  """Defines --queries_dir, in place of --questions."""
  holder = flags.DEFINE_string(
    'queries_dir',
    None,
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
  """Returns the questions of `path`, by default of --questions."""
  return questions.read_questions(
    path or QUESTIONS.value, _MAX_ANSWER_TOKENS.value, may_lack_answers
  )
