"""Questions and masked sentences that a model answers: the page's buttons.

A stranger tries them first, so each is answered right here, by the model and
the search of the page.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from realm_tf import errors
from realm_tf.corpus import json_records
from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import exact_match
from realm_tf.records import block_table
from realm_tf.records import query_table
from realm_tf.text import wordpiece

_MOST_QUESTIONS, _MOST_SENTENCES = 500, 60  # Tried, before the choice.
_NUM_QUESTIONS, _NUM_SENTENCES = 6, 3
_LONGEST = 70  # Characters of a text that fits on a button.
_LIKELY = 0.66  # Least probability; the page's words are "Likely right".
_SURE = 0.8  # Probability of a word that is clear enough.

Question = questions_lib.Question
_Answer = dict[str, Any]  # A line of predictions.jsonl.
_FIELDS = {'prediction', 'probability', 'is_refused', 'evidence'}
# A masked sentence -> the reply of `masked_sentence.Completer.complete`.
Complete = Callable[[str], dict[str, Any]]


def questions(
  predictions: str, given: Sequence[Question], table: block_table.BlockTable
) -> list[str]:
  """Returns at most 6 questions with right, likely answers, not refused.

  They are of different articles and, by ids ARTICLE/RELATION, of different
  relations. The likeliest answers, words instead of numbers, and long articles
  come first, because a visitor knows their titles.

  Args:
    predictions: predictions.jsonl of these questions, among others.
  """
  asked = [each for each in given if each.answers][:_MOST_QUESTIONS]
  answers = _read(predictions, asked)
  exact = exact_match.per_question(
    [answer['prediction'] for answer in answers], asked
  ).exact
  right = [
    (question, answer)
    for question, answer, is_exact in zip(asked, answers, exact, strict=True)
    if is_exact
    and answer['probability'] >= _LIKELY
    and _is_from_gold(question, answer, table)
  ]
  right.sort(key=lambda pair: _rank(pair[0], pair[1], table))
  chosen: list[Question] = []
  for differs in (_differs_in_all, _differs_in_article):
    for question, _ in right:
      if len(chosen) < _NUM_QUESTIONS and differs(question, chosen):
        chosen.append(question)
  return [each.question for each in chosen]


def sentences(
  complete: Complete,
  queries: query_table.QueryTable,
  tokenizer: wordpiece.WordpieceTokenizer,
  seed: int = 0,
) -> list[str]:
  """Returns at most 3 masked sentences with right, likely words.

  Words that the model finds only with retrieval come first.
  """
  rows = np.random.default_rng(seed).permutation(queries.num_queries)
  found: list[tuple[bool, float, str, str]] = []
  for sentence, word in _masked(rows, queries, tokenizer):
    try:
      reply = complete(sentence)
    except errors.RequestError:  # Too long, or it has a mask itself.
      continue
    (best,), (alone,) = (
      [words[0] for words in reply[name]]
      for name in ('with_retrieval', 'without_retrieval')
    )
    if best['word'] != word or best['probability'] < _LIKELY:
      continue
    is_clear = best['probability'] >= _SURE and alone['word'] != word
    if all(word != other for *_, other in found):
      found.append((not is_clear, -best['probability'], sentence, word))
    if sum(not is_vague for is_vague, *_ in found) == _NUM_SENTENCES:
      break
  return [sentence for _, _, sentence, _ in sorted(found)[:_NUM_SENTENCES]]


def _masked(
  rows: Iterable[int],
  queries: query_table.QueryTable,
  tokenizer: wordpiece.WordpieceTokenizer,
) -> Iterator[tuple[str, str]]:
  """Yields masked sentences, each with its missing word, one wordpiece."""
  number = 0
  for row in rows:
    query = queries.query(int(row))
    text = query.text
    tokens = tokenizer.tokenize(text)
    for first, stop in query.spans.tolist():
      piece = tokenizer.vocabulary[query.ids[first]]
      if stop - first > 1 or len(text) > _LONGEST or not piece.isalpha():
        continue
      start, end = tokens.characters(first, stop)
      yield f'{text[:start]}{wordpiece.MASK}{text[end:]}', piece
      number += 1
      if number == _MOST_SENTENCES:
        return
      break


def _read(path: str, asked: Sequence[Question]) -> list[_Answer]:
  """Returns the answer to each question; UserError if one is missing."""
  found = {row.get('question'): row for _, row in json_records.read_lines(path)}
  for question in asked:
    if not _FIELDS.issubset(found.get(question.question, ())):
      raise errors.UserError(
        f'--predictions must have the answer to {question.question!r}. Found '
        f'none in {path}. Give --predictions of bin.calibrate.'
      )
  return [found[question.question] for question in asked]


def _is_from_gold(
  question: Question, answer: _Answer, table: block_table.BlockTable
) -> bool:
  """Whether an answer is not refused, and from the question's article."""
  if answer['is_refused'] or not answer['evidence']:
    return False
  articles = table.article_ids([answer['evidence'][0]['block_id']])
  return not question.gold_id or articles == [question.gold_id]


def _rank(
  question: Question, answer: _Answer, table: block_table.BlockTable
) -> tuple[Any, ...]:
  text = question.question
  is_plain = text[:1].isupper() and text.endswith('?')
  block_id = answer['evidence'][0]['block_id']
  return (
    not is_plain or len(text) > _LONGEST,
    -round(answer['probability'], 1),
    ',' in text,  # "Well, ..." and "..., thanks?" say nothing.
    not text.isascii(),  # Most visitors read no accents.
    any(map(str.isdigit, answer['prediction'])),
    -len(table.article_blocks(block_id)),
    len(text),
  )


def _differs_in_all(question: Question, chosen: Sequence[Question]) -> bool:
  relation = _relation(question)
  return _differs_in_article(question, chosen) and (
    not relation or all(_relation(each) != relation for each in chosen)
  )


def _differs_in_article(question: Question, chosen: Sequence[Question]) -> bool:
  return all(
    each.question != question.question
    and (not each.gold_id or each.gold_id != question.gold_id)
    for each in chosen
  )


def _relation(question: Question) -> str:
  """Returns RELATION of an id ARTICLE/RELATION, or ''."""
  article, _, relation = question.question_id.rpartition('/')
  return relation if article and article == question.gold_id else ''
