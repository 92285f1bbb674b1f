"""Labels blocks for a question: which hold an answer, and where.

  questions with answers, corpus -> [this file] -> has_answer, is_compared,
                                                   is_answer

Labels are cached, because the next search of a question finds most of its
blocks again. (The release tokenizes 5,000 blocks for each question each time.)
"""

import collections
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from realm_tf import config as config_lib
from realm_tf.corpus import questions as questions_lib
from realm_tf.records import answer_spans
from realm_tf.records import block_table
from realm_tf.records import sampling
from realm_tf.text import answers as answers_lib
from realm_tf.text import sentencepieces
from realm_tf.text import wordpiece
from realm_tf.training import answerable
from realm_tf.training import runs

_MAX_KNOWN = 100_000_000  # Cached labels, of 5 bytes each.
_CHUNK = 10_000  # Article ids read at once.

Tokenizer = wordpiece.WordpieceTokenizer | sentencepieces.SentencepieceTokenizer


class Questions(NamedTuple):
  """Tokenized questions of a training set.

  Attributes:
    given: The Q questions.
    ids: Wordpieces, int32 [Q, Lq], zero-padded.
    answers: Wordpieces of each answer; empty for regular expressions.
  """

  given: Sequence[questions_lib.Question]
  ids: np.ndarray
  answers: Sequence[Sequence[np.ndarray]]


def tokenize(
  given: Sequence[questions_lib.Question], tokenizer: Tokenizer, length: int
) -> Questions:
  """Tokenizes questions, cut to `length` wordpieces, and their answers."""
  ids = sampling.pad_rows(
    tokenizer.token_ids_batch([question.question for question in given]), length
  )
  plain = [() if question.regex else question.answers for question in given]
  flat = iter(
    tokenizer.token_ids_batch([answer for each in plain for answer in each])
  )
  return Questions(given, ids, [[next(flat) for _ in each] for each in plain])


class AnswerLabels:
  """Labels of blocks for each question.

  Args:
    config: Gives `supervision`, and the wordpieces of a block that are read.
  """

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
    self._known = collections.OrderedDict()  # Ordered by last use.
    self._num_known = 0
    self._gold: dict[int, np.ndarray] = {}  # Ids by question.
    if config.supervision == 'gold':
      self._find_gold()

  def gold(self, row: int) -> np.ndarray:
    """Returns the blocks of the question's own article with its answer."""
    return self._gold.get(row, np.zeros([0], np.int64))

  def has_answer(self, row: int, block_ids: np.ndarray) -> np.ndarray:
    """Returns which of the blocks [N] are positives of a question, bool [N].

    These are the blocks of `gold`, if any, otherwise all with an answer's text.
    """
    gold = self.gold(row)
    if gold.size:
      return np.isin(block_ids, gold)
    return self._holds_text(row, block_ids)

  def is_compared(self, row: int, block_ids: np.ndarray) -> np.ndarray:
    """Returns which of the blocks [N] are positives or negatives, bool [N].

    Excludes blocks with the answer's text that are not in `gold`: they may or
    may not answer the question.
    """
    gold = self.gold(row)
    if not gold.size:
      return np.ones(block_ids.shape, bool)
    return np.isin(block_ids, gold) | ~self._holds_text(row, block_ids)

  def hold_text(self, rows: np.ndarray, block_ids: np.ndarray) -> np.ndarray:
    """Returns which blocks hold an answer of which question, bool [R, N].

    Args:
      rows: Numbers of the questions, [R].
      block_ids: Blocks, the same for each question, int [N]; no padding.
    """
    unique, places = np.unique(block_ids, return_inverse=True)
    bodies = self._bodies(unique)
    matches = [self._matches(row, unique, bodies) for row in rows]
    return np.stack(matches)[:, places]

  def _holds_text(self, row, block_ids):
    """Returns `hold_text` of one question, cached, bool [N]."""
    ids, labels = self._known.pop(row, (np.zeros([0], np.int64), None))
    self._num_known -= len(ids)
    new = np.setdiff1d(block_ids[block_ids >= 0], ids)  # Sorted.
    if new.size:
      place = np.searchsorted(ids, new)
      found = self._matches(row, new, self._bodies(new))
      labels = found if labels is None else np.insert(labels, place, found)
      ids = np.insert(ids, place, new)
    self._keep(row, ids, labels)
    if not ids.size:
      return np.zeros(block_ids.shape, bool)
    return labels[np.searchsorted(ids, np.maximum(block_ids, ids[0]))] & (
      block_ids >= 0
    )

  def spans(
    self, row: int, block_ids: np.ndarray, bodies: np.ndarray, *, max_width: int
  ) -> np.ndarray:
    """Returns which spans of blocks are answers of the question `row`.

    Args:
      block_ids: int [K].
      bodies: Wordpieces of the blocks, int32 [K, Lz].
      max_width: W.

    Returns:
      bool [K, Lz, W]; [k, s, w] is the span of w + 1 wordpieces from s on.
    """
    question = self.questions.given[row]
    if not question.regex:
      answers = self.questions.answers[row]
      return answer_spans.find(bodies, answers, max_width)[1]
    is_answer = np.zeros([*bodies.shape, max_width], bool)
    places = np.flatnonzero(block_ids >= 0)
    texts = self.table.texts(block_ids[places].tolist())
    for place, text in zip(places, texts, strict=True):
      found = answers_lib.find_matches(text, question.answers)
      tokens = self._tokenizer.tokenize(text)
      for start, end in found:
        span = tokens.span(start, end)
        if (
          span
          and span[1] - span[0] <= max_width
          and span[1] <= len(bodies[place])
        ):
          is_answer[place, span[0], span[1] - span[0] - 1] = True
    return is_answer

  def _bodies(self, block_ids):
    return self.table.gather(block_ids, 1, self._length)[1]

  def _matches(self, row, block_ids, bodies):
    """Returns which blocks hold an answer's text, bool [N]."""
    question = self.questions.given[row]
    if question.regex:
      return np.array(
        [
          answers_lib.contains_answer(text, question.answers, True)
          for text in self.table.texts(block_ids.tolist())
        ]
      )
    return answer_spans.contain(bodies, self.questions.answers[row])

  def _keep(self, row, ids, labels):
    self._known[row] = ids, labels
    self._num_known += len(ids)
    while self._num_known > _MAX_KNOWN:
      _, (oldest, _) = self._known.popitem(last=False)
      self._num_known -= len(oldest)

  def _find_gold(self):
    """Finds the blocks of all articles that questions name."""
    blocks = {question.gold_id: [] for question in self.questions.given}
    blocks.pop('', None)
    for start in range(0, self.table.num_blocks, _CHUNK):
      ids = range(start, min(start + _CHUNK, self.table.num_blocks))
      for block_id, article_id in zip(ids, self.table.article_ids(ids)):
        if article_id in blocks:
          blocks[article_id].append(block_id)
    for row, question in enumerate(self.questions.given):
      ids = np.array(blocks.get(question.gold_id, []), np.int64)
      if ids.size:
        self._gold[row] = ids[self._matches(row, ids, self._bodies(ids))]


def of_questions(
  given: Sequence[questions_lib.Question],
  inputs: runs.Inputs,
  config: config_lib.FinetuningConfig,
) -> AnswerLabels:
  """Returns the labels of a job's questions, after `answerable.check`."""
  tokenized = tokenize(
    given, inputs.tokenizer, inputs.config.lengths.question_tokens
  )
  needs_gold = config.supervision == 'gold'
  answers, length = tokenized.answers, config.joint_tokens
  answerable.check(
    given, answers, inputs.table, length=length, needs_gold=needs_gold
  )
  return AnswerLabels(tokenized, inputs.table, inputs.tokenizer, config=config)
