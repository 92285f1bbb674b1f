"""Defines the flags of binaries that read questions, and reads these."""

from typing import Optional

from absl import flags

from realm_tf.corpus import questions

_QUESTIONS = flags.DEFINE_string(
  'questions',
  None,
  "Questions: JSONL, DPR's or FiD's JSON, .tsv (CuratedTREC), a glob, "
  "'beir:DIR', 'tfds:NAME@SPLIT' or 'hf_disk:DIR'.",
)
_MAX_ANSWER_TOKENS = flags.DEFINE_integer(
  'max_answer_tokens',
  None,
  'Longest answer to keep, in tokens (NQ-open: 5).',
  1,
)


def are_given() -> bool:
  return _QUESTIONS.value is not None


def read(
  path: Optional[str] = None, may_lack_answers: bool = False
) -> list[questions.Question]:
  """Returns the questions of `path`, by default of --questions."""
  return questions.read_questions(
    path or _QUESTIONS.value, _MAX_ANSWER_TOKENS.value, may_lack_answers
  )
