"""Labels of the blocks of each question: which hold an answer, and where."""

from collections.abc import Sequence
import itertools
from typing import NamedTuple

import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import interfaces
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import answer_spans
from realm_tf.data import block_table
from realm_tf.data import sampling
from realm_tf.retrieval import retriever
from realm_tf.text import answers as answers_lib
from realm_tf.text import sentencepieces
from realm_tf.text import wordpiece
from realm_tf.training import job

_NUM_CHECKED = 1000  # Answers that are searched for in the corpus.

Tokenizer = wordpiece.WordpieceTokenizer | sentencepieces.SentencepieceTokenizer


class Questions(NamedTuple):
  """Tokenized questions of a training set."""

  given: Sequence[questions_lib.Question]  # Q questions.
  ids: np.ndarray  # Wordpieces, int32 [Q, Lq], zero-padded.
  # Wordpieces of each answer; a regular expression has none.
  answers: Sequence[Sequence[np.ndarray]]

  def texts(self, rows: Sequence[int] | np.ndarray) -> list[str]:
    return [self.given[row].question for row in rows]

  def queries(self, rows: np.ndarray | None = None) -> interfaces.Queries:
    """Returns the retriever's input for these rows, by default for all."""
    rows = np.arange(len(self.given)) if rows is None else rows
    return retriever.of_texts(self.texts(rows), self.ids[rows])

  def search_once(
    self, search: interfaces.Retriever, k: int
  ) -> interfaces.Retriever:
    """Returns `search`, which does not learn, with `k` blocks of each kept."""
    kept = retriever.Kept(search)
    kept.retrieve(self.queries(), k)
    return kept


def tokenize(
  given: Sequence[questions_lib.Question], tokenizer: Tokenizer, length: int
) -> Questions:
  """Tokenizes questions and answers; cuts questions to `length` wordpieces."""
  ids = sampling.pad_rows(
    tokenizer.token_ids_batch([question.question for question in given]), length
  )
  plain = [() if question.regex else question.answers for question in given]
  flat = iter(
    tokenizer.token_ids_batch([answer for each in plain for answer in each])
  )
  return Questions(given, ids, [[next(flat) for _ in each] for each in plain])


def check(
  questions: Questions,
  table: block_table.BlockTable,
  *,
  length: int,
  needs_gold: bool = False,
) -> None:
  """Checks that questions and corpus belong together.

  A `gold_id` that the corpus lacks gives a warning. One regular expression
  among the answers suffices: the check does not search for it.

  Raises:
    UserError: No answer is in the first `length` wordpieces of a block, or
      `needs_gold` and the corpus lacks every `gold_id`.
  """
  given = questions.given
  gold = (each.gold_id for each in given if not each.is_impossible)
  block_table.check_article_ids(gold, table, "Questions' gold_id", needs_gold)
  each = itertools.chain.from_iterable(questions.answers)
  flat = list(itertools.islice(each, _NUM_CHECKED))
  if any(question.regex for question in given) or answer_spans.is_any_in(
    table, flat, length
  ):
    return
  raise errors.UserError(
    'Training needs questions whose answers stand in the corpus. Found none of '
    f'the first {len(flat)} answers in the {table.num_blocks} '
    f'blocks of {table.corpus_dir}: {given[0].question!r:.60} has '
    f'{given[0].answers[:1]!r:.40}. Give questions on this corpus.'
  )


class AnswerLabels:
  """Labels of blocks for each question."""

  def __init__(
    self,
    questions: Questions,
    table: block_table.BlockTable,
    tokenizer: wordpiece.WordpieceTokenizer,
    *,
    config: config_lib.FinetuningConfig,
  ):
    self.questions = questions
    self.table = table
    self._tokenizer = tokenizer
    self._length = config.joint_tokens
    self._gold: dict[int, np.ndarray] = {}  # Ids by question.
    for row, question in enumerate(questions.given):
      if config.supervision == 'gold' and question.gold_id:
        own = np.array([question.gold_block])
        if question.gold_block < 0:
          own = table.find_article(question.gold_id)
        self._gold[row] = own[self._matches(row, own, self._bodies(own))]

  def gold(self, row: int) -> np.ndarray:
    """Returns the question's `gold_id` blocks with its answer, int64 [n]."""
    return self._gold.get(row, np.zeros([0], np.int64))

  def with_gold(
    self, rows: Sequence[int], found: interfaces.Neighbors
  ) -> interfaces.Neighbors:
    """Returns hits whose last block is a gold block where there was none."""
    block_ids, scores = found.block_ids.copy(), found.scores.copy()
    for i, ids in enumerate(map(self.gold, rows)):
      if ids.size and not (block_ids[i][:, None] == ids).any():
        # With fixed scores, the block gets the row's lowest score.
        block_ids[i, -1] = ids[0]
        has_score = np.isfinite(scores[i])
        if not has_score[-1]:
          scores[i, -1] = np.min(scores[i], where=has_score, initial=0)
    return interfaces.Neighbors(block_ids, scores)

  def label(
    self, row: int, block_ids: np.ndarray
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns which of the blocks [N] are positives, and compared, bool [N].

    Positives are the blocks of `gold`, if any, else all blocks with an answer.
    A block outside `gold` that holds an answer's text is not compared: whether
    it answers the question is unknown. Neither is padding, -1.
    """
    is_real = block_ids >= 0
    holds_text = self._matches(row, block_ids, self._bodies(block_ids))
    gold = self.gold(row)
    if not gold.size:
      return holds_text, is_real
    is_gold = (block_ids[:, None] == gold).any(axis=1)
    return is_gold, is_real & (is_gold | ~holds_text)

  def compare(
    self, rows: np.ndarray, block_ids: np.ndarray
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns `label` of each question's blocks, bool [B, ...], as the ids."""
    flat = block_ids.reshape([len(rows), -1])
    positive, compared = zip(*map(self.label, rows, flat), strict=True)
    shape = block_ids.shape
    return np.reshape(positive, shape), np.reshape(compared, shape)

  def hold_text(self, rows: np.ndarray, block_ids: np.ndarray) -> np.ndarray:
    """Returns whether a block holds an answer of a question, bool [R, N].

    Args:
      rows: Numbers of the questions, [R].
      block_ids: int [N], without padding.
    """
    unique, places = np.unique(block_ids, return_inverse=True)
    bodies = self._bodies(unique)
    matches = [self._matches(row, unique, bodies) for row in rows]
    return np.stack(matches)[:, places]

  def spans(
    self, row: int, block_ids: np.ndarray, bodies: np.ndarray, *, max_width: int
  ) -> np.ndarray:
    """Returns which spans are answers of the question `row`, bool [K, Lz, W].

    Element [k, s, w] is for the span of w + 1 wordpieces from s on.

    Args:
      block_ids: int [K].
      bodies: Wordpieces of the blocks, int32 [K, Lz].
      max_width: W.
    """
    question = self.questions.given[row]
    if not question.regex:
      answers = self.questions.answers[row]
      is_inner = self._tokenizer.is_inner
      return answer_spans.find(bodies, answers, max_width, is_inner)[1]
    is_answer = np.zeros([*bodies.shape, max_width], bool)
    places = np.flatnonzero(block_ids >= 0)
    texts = self.table.texts(block_ids[places].tolist())
    for place, text in zip(places, texts, strict=True):
      tokens = self._tokenizer.tokenize(text)
      for match in answers_lib.find_matches(text, question.answers):
        start, end = tokens.span(*match) or (0, 0)
        if 0 < end - start <= max_width and end <= bodies.shape[1]:
          is_answer[place, start, end - start - 1] = True
    return is_answer

  def _bodies(self, block_ids: np.ndarray) -> np.ndarray:
    return self.table.gather(block_ids, 1, self._length)[1]

  def _matches(
    self, row: int, block_ids: np.ndarray, bodies: np.ndarray
  ) -> np.ndarray:
    """Returns which of the blocks [N] hold an answer's text; none for -1."""
    question = self.questions.given[row]
    if not question.regex:
      return answer_spans.contain(
        bodies, self.questions.answers[row], self._tokenizer.is_inner
      )
    texts = self.table.texts(np.maximum(block_ids, 0).tolist())
    found = [
      answers_lib.contains_answer(t, question.answers, True) for t in texts
    ]
    return np.array(found, bool) & (block_ids >= 0)


def of_questions(
  given: Sequence[questions_lib.Question],
  inputs: job.Inputs,
  config: config_lib.FinetuningConfig,
) -> AnswerLabels:
  """Tokenizes and checks a job's questions; returns their labels."""
  tokenized = tokenize(
    given, inputs.tokenizer, inputs.config.lengths.question_tokens
  )
  check(
    tokenized,
    inputs.table,
    length=config.joint_tokens,
    needs_gold=config.supervision == 'gold',
  )
  return AnswerLabels(tokenized, inputs.table, inputs.tokenizer, config=config)
