"""Makes questions of sentences, so that a reader learns what questions ask.

A template turns a sentence into a question for one of its spans
(`corpus.question_wording`). The reader finds the answer in a block whose own
sentence with the span is mostly another one, as in Fabbri et al. 2020
(https://arxiv.org/abs/2004.11892): what it reads paraphrases the question.
"""

import collections
from collections.abc import Iterator
import functools
import re
from typing import NamedTuple, Optional

import numpy as np

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.corpus import question_spans
from realm_tf.corpus import question_wording
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import held_out
from realm_tf.data import null_block
from realm_tf.data import query_table
from realm_tf.data import sampling
from realm_tf.text import english
from realm_tf.training import job

_PER_SENTENCE = 2
_SHARED_WORDS = 2  # Of the question and the answer's sentence.
_NEAR = 200  # Sentences of an article before and after one.
_TRIED = 3  # Other sentences that a question may come from.
_STEM = 6  # Letters of a word that are compared.
_WORD = re.compile(r'[^\W_]+')
_PERSONAL = re.compile(r'(?:He|She|His|Her)\b')
_PERSONAL_SHARE = 0.15  # Of the sentences of an article on a person.
_FUNCTION_WORDS = frozenset(english.WORDS['lower words'])


class _Sentence(NamedTuple):
  row: int
  text: str
  names: list[tuple[int, int]]
  words: frozenset[str]
  asked: list[question_spans.Asked]


class _Article(NamedTuple):
  """Sentences with the same title."""

  title: str
  is_person: bool
  sentences: dict[int, _Sentence]  # By row.
  places: dict[str, list[int]]  # Answer -> rows of sentences with it.


def from_sentences(
  queries: query_table.QueryTable,
  inputs: job.Inputs,
  search: Optional[interfaces.Retriever] = None,
  num_others: int = 0,
) -> list[questions_lib.Question]:
  """Returns questions for sentences of the corpus, in random order.

  Sentences of held-out articles (`held_out.share`) give none. A job gets as
  many as its steps read, or all. Next to other questions they are
  `sentence_share` of all.

  Args:
    queries: X, after `fit_corpus`.
    search: Not needed.
    num_others: Number of the other questions.

  Raises:
    UserError: No sentence gives a question.
  """
  del search
  config = inputs.config
  is_held_out = held_out.queries(queries, inputs.table, config.held_out.share)
  rows = held_out.others(is_held_out)
  rng = sampling.step_rng(config.seed, 0)
  rng.shuffle(rows)
  most = config.finetuning.optimizer.num_steps * config.finetuning.batch_size
  if num_others:
    part = config.finetuning.sentence_share
    most = min(most, round(num_others * part / (1 - part)))
  made: list[questions_lib.Question] = []
  maker = _Maker(queries, inputs, ~is_held_out, rng)
  for row in rows:
    if len(made) >= most:
      break
    made += maker.ask(int(row))
  if not made and most:
    raise errors.UserError(
      'Sentences must have names, dates or numbers that questions ask for. '
      f'Found none in {len(rows)} sentences of the corpus. Use a larger corpus.'
    )
  return made[:most]


class _Maker:
  """Makes the questions of one sentence after the other."""

  def __init__(
    self,
    queries: query_table.QueryTable,
    inputs: job.Inputs,
    is_used: np.ndarray,
    rng: np.random.Generator,
  ):
    self._queries, self._inputs, self._rng = queries, inputs, rng
    self._known = frozenset(inputs.tokenizer.vocabulary)
    self._counts: collections.Counter[str] = collections.Counter()
    self._made: set[tuple[str, str]] = set()
    table, own = inputs.table, queries.own_blocks
    titles = [title or str(i) for i, title in enumerate(table.all_titles())]
    _, numbers = np.unique(titles, return_inverse=True)
    # Articles of one title count as one; -1 is a sentence of no block.
    self._articles = np.where(
      (own == null_block.ID) | ~is_used, -1, numbers[table.article_rows[own]]
    )
    self._order = np.argsort(self._articles, kind='stable')
    self._sorted = self._articles[self._order]
    self._article = functools.cache(self._read_article)

  def ask(self, row: int) -> Iterator[questions_lib.Question]:
    """Yields the questions of a sentence, of the rarest kinds so far."""
    number = int(self._articles[row])
    if number < 0:
      return
    article = self._article(number)
    sentence = article.sentences[row]
    block = int(self._queries.own_blocks[row])
    text = self._inputs.table.texts([block])[0]
    left = _PER_SENTENCE
    near = {each: self._near(article, sentence, each) for each in sentence.asked}
    asked = [sentence.asked[i] for i in self._rng.permutation(len(sentence.asked))]
    asked.sort(key=lambda each: (not near[each], self._counts[each.kind]))
    for each in asked:
      answer = sentence.text[each.start : each.end]
      question = left and answer in text and self._word(article, sentence, each, near[each])
      if not question or (question, answer) in self._made:
        continue
      self._made.add((question, answer))
      self._counts[each.kind] += 1
      left -= 1
      yield questions_lib.Question(
        question,
        (answer,),
        question_id=f'text-{row}-{each.start}',
        gold_id=self._inputs.table.article_ids([block])[0],
        gold_block=block,
      )

  def _near(
    self,
    article: _Article,
    sentence: _Sentence,
    asked: question_spans.Asked,
  ) -> list[_Sentence]:
    """Returns the sentences that are most like one, with the same answer."""
    own_blocks = self._queries.own_blocks
    own = sentence.words - _stems(sentence.text[asked.start : asked.end])
    near = [
      article.sentences[row]
      for row in article.places[_key(sentence.text, asked)]
      if own_blocks[row] != own_blocks[sentence.row]
      and abs(row - sentence.row) < _NEAR
    ]
    near = [each for each in near if len(own & each.words) >= _SHARED_WORDS]
    return sorted(near, key=lambda each: -len(own & each.words))[:_TRIED]

  def _word(
    self,
    article: _Article,
    sentence: _Sentence,
    asked: question_spans.Asked,
    near: list[_Sentence],
  ) -> str:
    """Returns a question, of another sentence if possible, or ''."""
    answer = sentence.text[asked.start : asked.end]
    own = sentence.words - _stems(answer)
    for each in (*near, sentence) if asked.words else near:
      span = next(
        span
        for span in each.asked
        if span.words and _key(each.text, span) == _key(sentence.text, asked)
      )
      question = question_wording.ask(
        each.text,
        span,
        self._rng,
        title=article.title,
        is_person=article.is_person,
        begins_with_name=any(not start for start, _ in each.names),
        known=self._known,
      )
      shared = len(own & _stems(question))
      if shared >= min(_SHARED_WORDS, len(own)) and (
        _plain(answer) not in _plain(question)
      ):
        return question
    return ''

  def _read_article(self, number: int) -> _Article:
    bounds = np.searchsorted(self._sorted, [number, number + 1])
    rows = self._order[slice(*bounds)].tolist()
    found = [self._queries.query(row) for row in rows]
    tokens = self._inputs.tokenizer.tokenize_batch([each.text for each in found])
    names = [
      [(int(t.starts[a]), int(t.ends[b - 1])) for a, b in each.spans.tolist()]
      for each, t in zip(found, tokens, strict=True)
    ]
    title = self._inputs.table.titles(self._queries.own_blocks[rows[:1]])[0]
    personal = sum(bool(_PERSONAL.match(each.text)) for each in found)
    is_person = personal > _PERSONAL_SHARE * len(found)
    people = {
      name
      for each, spans in zip(found, names, strict=True)
      for name in question_spans.last_names(each.text, spans)
    } | ({title.split()[-1]} if is_person else set())
    article = _Article(title, is_person, {}, collections.defaultdict(list))
    width = self._inputs.config.model.max_span_width
    for row, each, t, spans in zip(rows, found, tokens, names, strict=True):
      asked = [
        one
        for one in question_spans.find(each.text, spans, people)
        if (pieces := t.span(one.start, one.end))
        and pieces[1] - pieces[0] <= width
      ]
      for one in asked:
        if one.words:
          article.places[_key(each.text, one)].append(row)
      words = _stems(each.text)
      article.sentences[row] = _Sentence(row, each.text, spans, words, asked)
    return article


def _key(text: str, asked: question_spans.Asked) -> str:
  """Returns what two sentences with the same answer share: a last name."""
  answer = text[asked.start : asked.end]
  is_person = asked.kind == question_spans.PERSON
  return answer.rpartition(' ')[2] if is_person else answer


def _plain(text: str) -> str:
  return f' {" ".join(_WORD.findall(text.lower()))} '


def _stems(text: str) -> frozenset[str]:
  """Returns the beginnings of the words that say something."""
  words = _WORD.findall(text.lower())
  return frozenset(word[:_STEM] for word in words) - _FUNCTION_WORDS
