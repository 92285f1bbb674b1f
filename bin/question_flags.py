"""The flags of binaries that train or are measured on questions."""

from typing import Optional

from absl import flags

from realm_tf.corpus import questions

_QUESTIONS = flags.DEFINE_string(
  'questions', None, "JSONL, CuratedTREC's .tsv, a glob, or 'tfds:NAME@SPLIT'."
)
_MAX_ANSWER_TOKENS = flags.DEFINE_integer(
  'max_answer_tokens',
  None,
  'Leave longer answers out; NaturalQuestions-open is made with 5.',
  lower_bound=1,
)


def are_given() -> bool:
  """Returns whether --questions names any."""
  return _QUESTIONS.value is not None


def read(path: Optional[str] = None) -> list[questions.Question]:
  """Returns the questions of `path`, by default those that the flags name."""
  return questions.read_questions(
    path or _QUESTIONS.value, _MAX_ANSWER_TOKENS.value
  )
