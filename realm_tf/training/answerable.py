"""Checks, before training, that questions and corpus belong together."""

from collections.abc import Sequence

import numpy as np

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.records import answer_presence
from realm_tf.records import article_lookup
from realm_tf.records import block_table


def check(
  given: Sequence[questions_lib.Question],
  answers: Sequence[Sequence[np.ndarray]],
  table: block_table.BlockTable,
  *,
  length: int,
  needs_gold: bool = False,
) -> None:
  """Warns of questions on articles that the corpus lacks.

  Args:
    given: Questions. Regular expressions are not searched for.
    answers: Wordpieces of each answer of each question.
    table: The corpus.
    length: Wordpieces of a block that are read.
    needs_gold: Whether some `gold_id`, if there is one, must be in the corpus.

  Raises:
    UserError: No block has an answer, or no article of a `gold_id` is there.
  """
  gold = (question.gold_id for question in given)
  article_lookup.check(gold, table, "Questions' gold_id", needs_gold)
  flat = [answer for each in answers for answer in each]
  if any(question.regex for question in given) or answer_presence.is_any_in(
    table, flat, length
  ):
    return
  raise errors.UserError(
    'Training needs questions whose answers stand in the corpus. Found none of '
    f'{len(flat)} answers of {len(given)} questions in the {table.num_blocks} '
    f'blocks of {table.corpus_dir}: {given[0].question!r:.60} has '
    f'{given[0].answers[:1]!r:.40}. Give questions on this corpus.'
  )
