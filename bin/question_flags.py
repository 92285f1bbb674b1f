"""Defines the flags of binaries that read questions, and reads these."""

from typing import Optional

from absl import flags

from realm_tf.corpus import beir
from realm_tf.corpus import questions
from realm_tf.records import article_lookup
from realm_tf.records import block_table

_QUESTIONS = flags.DEFINE_string(
  'questions',
  None,
  'Questions: JSON, CSV or Parquet of SQuAD, DPR, KILT and others, a glob, '
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


def read_to_evaluate(
  has_qrels: bool, table: block_table.BlockTable
) -> list[questions.Question]:
  """Returns --questions; they need no answers if articles are judged.

  Args:
    has_qrels: Whether there are judgements.
    table: The corpus, which their articles are compared with if --retriever
      searches it.
  """
  is_beir = _QUESTIONS.value.startswith(beir.PREFIX)
  given = read(may_lack_answers=has_qrels or is_beir)
  if flags.FLAGS.retriever != 'none':
    gold = (question.gold_id for question in given)
    article_lookup.check(gold, table, "Questions' gold_id")
  return given
