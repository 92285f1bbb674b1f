"""Makes questions of sentences: by templates, or by a blank for a name.

A template turns a sentence into a question for one of its spans
(`corpus.question_wording`; Lewis et al. 2019, https://arxiv.org/abs/1906.04980).
If another block of the article has a similar sentence with the same span, the
reader finds the answer there (Fabbri et al. 2020,
https://arxiv.org/abs/2004.11892), so that it learns more than to find the
question's own words.

A blank replaces a name that a block holds: recurring span selection (Ram et al.
2021, https://arxiv.org/abs/2101.00438). BM25 finds the block; in the paper, the
span recurs within one passage.
"""

import collections
from collections.abc import Iterator, Sequence
import functools
import itertools
import re
from typing import NamedTuple

import numpy as np

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.corpus import question_spans
from realm_tf.corpus import question_wording
from realm_tf.corpus import questions as questions_lib
from realm_tf.corpus import terms
from realm_tf.data import held_out
from realm_tf.data import masking
from realm_tf.data import query_table
from realm_tf.data import sampling
from realm_tf.retrieval import candidates
from realm_tf.retrieval import retriever
from realm_tf.text import english
from realm_tf.training import job

_BLANK = 'what'  # Replaces a name, as in most questions.
_SENTENCES = 512  # Of which questions are made at once.
_DEPTH = 20  # Blocks that may hold the name.
_MOST_TOKENS, _LONGEST_SPAN = 512, 10  # Limits of `query_table`.
_PER_SENTENCE = 2  # Most questions that a sentence answers.
_SHARED_WORDS = 2  # Of the question and the answer's sentence.
_NEAR = 200  # Sentences of an article before and after one.
_TRIED = 3  # Other sentences that a question may come from.
_STEM = 6  # Letters of a word that are compared.
_PERSONAL = re.compile(r'(?:He|She|His|Her)\b')
_PERSONAL_SHARE = 0.15  # Of the sentences of an article on a person.
_FUNCTION_WORDS = frozenset(english.WORDS['lower words'])


class _Sentence(NamedTuple):
  """A sentence; `asked` are the spans that it answers or asks for."""

  row: int
  block: int
  text: str
  begins_with_name: bool
  words: frozenset[str]  # From `_stems`.
  asked: list[question_spans.Asked]

  def answer(self, asked: question_spans.Asked) -> str:
    return self.text[asked.start : asked.end]

  def key(self, asked: question_spans.Asked) -> str:
    """Returns what sentences with the same answer share: a last name."""
    is_person = asked.kind == question_spans.PERSON
    return self.answer(asked).rpartition(' ' if is_person else '\0')[2]


class _Article(NamedTuple):
  """The sentences with one title."""

  title: str
  is_person: bool
  sentences: dict[int, _Sentence]  # By row.
  # Key of an answer -> sentences that ask for it, and where.
  places: dict[str, list[tuple[_Sentence, question_spans.Asked]]]


def from_sentences(
  queries: query_table.QueryTable,
  inputs: job.Inputs,
  search: interfaces.Retriever | None = None,
  num_others: int = 0,
) -> list[questions_lib.Question]:
  """Returns questions for sentences of the corpus, in random order.

  Sentences of held-out articles (`held_out.share`) give none. A job gets as
  many as its steps read, or all: 57,000 sentences take 40 s. Next to other
  questions they are `sentence_share` of all.

  Args:
    queries: X, after `fit_corpus`.
    search: Finds blocks for sentences with a blank, at most one question each:
      a random span is the answer, if one of the first blocks that it finds for
      the rest has the span; the sentence's own block does not count. By default
      templates make the questions.
    num_others: Number of the other questions.

  Raises:
    UserError: No sentence gives a question.
  """
  config = inputs.config
  rows = held_out.others(
    held_out.queries(queries, inputs.table, config.held_out.share)
  )
  rng = sampling.step_rng(config.seed, 0)
  rng.shuffle(rows)
  most = config.finetuning.optimizer.num_steps * config.finetuning.batch_size
  if num_others:
    part = config.finetuning.sentence_share
    most = min(most, round(num_others * part / (1 - part)))
  if search:
    ask = functools.partial(_with_blanks, queries, inputs, search, rng)
  else:
    maker = _Maker(queries, inputs, rows, rng)
    ask = lambda some: itertools.chain.from_iterable(map(maker.ask, some))
  made: list[questions_lib.Question] = []
  for start in range(0, len(rows), _SENTENCES):
    if len(made) >= most:
      break
    made += ask(rows[start : start + _SENTENCES].tolist())
  if not made and most:
    raise errors.UserError(
      'Sentences must have names, dates or numbers that questions ask for, or '
      f'that another block has. Found none for {len(rows)} sentences of the '
      'corpus. Use a larger corpus.'
    )
  return made if search and not num_others else made[:most]


def _with_blanks(
  queries: query_table.QueryTable,
  inputs: job.Inputs,
  search: interfaces.Retriever,
  rng: np.random.Generator,
  rows: Sequence[int],
) -> Iterator[questions_lib.Question]:
  tokenizer = inputs.tokenizer
  how = masking.Masking(
    'salient', _MOST_TOKENS, _LONGEST_SPAN, tokenizer.mask_id
  )
  masked = masking.mask_batch(queries, np.array(rows), how, rng)
  hits = search.retrieve(
    retriever.masked(masked['query_ids'], tokenizer),
    _DEPTH + candidates.SPARE_HITS,
  )
  found, has_span = candidates.find_spans(
    hits.block_ids, masked, inputs.table, _DEPTH
  )
  usable = np.flatnonzero(has_span.any(axis=1))
  texts = [queries.query(rows[i]).text for i in usable]
  for i, text, tokens in zip(usable, texts, tokenizer.tokenize_batch(texts)):
    positions = masked['masked_positions'][i, masked['token_mask'][i] > 0]
    start, end = tokens.starts[positions[0]], tokens.ends[positions[-1]]
    gold = found[i, has_span[i].argmax()]
    yield questions_lib.Question(
      f'{text[:start]}{_BLANK}{text[end:]}',
      (text[start:end],),
      question_id=f'cloze-{rows[i]}',
      gold_id=inputs.table.article_ids([gold])[0],
    )


class _Maker:
  """Makes the questions of one sentence after the other."""

  def __init__(
    self,
    queries: query_table.QueryTable,
    inputs: job.Inputs,
    rows: np.ndarray,
    rng: np.random.Generator,
  ):
    self._queries, self._inputs, self._rng = queries, inputs, rng
    self._known = frozenset(inputs.tokenizer.vocabulary)
    self._counts: collections.Counter[str] = collections.Counter()
    self._made: set[tuple[str, str]] = set()
    own, table = queries.own_blocks, inputs.table
    titles = [title or str(i) for i, title in enumerate(table.all_titles())]
    numbers = np.unique(titles, return_inverse=True)[1]
    # Articles of one title count as one. -1: no block, or held out.
    is_used = np.isin(np.arange(len(own)), rows) & (
      own != interfaces.NULL_BLOCK
    )
    self._numbers = np.where(is_used, numbers[table.article_rows[own]], -1)
    self._order = np.argsort(self._numbers, kind='stable')
    self._sorted = self._numbers[self._order]
    self._article = functools.cache(self._read_article)

  def ask(self, row: int) -> Iterator[questions_lib.Question]:
    """Yields the questions that a sentence answers.

    Those that another sentence asks come first, then the rarest kinds so far.
    """
    number = int(self._numbers[row])
    if number < 0:
      return
    article = self._article(number)
    sentence = article.sentences[row]
    table, block = self._inputs.table, sentence.block
    (text,), (article_id,) = table.texts([block]), table.article_ids([block])
    order = self._rng.permutation(len(sentence.asked))
    found = [
      (self._sources(article, sentence, sentence.asked[i]), sentence.asked[i])
      for i in order
    ]
    found.sort(key=lambda each: (not each[0], self._counts[each[1].kind]))
    left = _PER_SENTENCE
    for sources, asked in found:
      answer = sentence.answer(asked)
      own = [(sentence, asked)] if asked.words else []
      if not left or answer not in text:
        continue
      question = self._word(article, sentence, answer, sources + own)
      if not question or (question, answer) in self._made:
        continue
      self._made.add((question, answer))
      self._counts[asked.kind] += 1
      left -= 1
      yield questions_lib.Question(
        question,
        (answer,),
        question_id=f'text-{row}-{asked.start}',
        gold_id=article_id,
        gold_block=block,
      )

  def _sources(
    self, article: _Article, sentence: _Sentence, asked: question_spans.Asked
  ) -> list[tuple[_Sentence, question_spans.Asked]]:
    """Returns the most similar sentences of other blocks with an answer."""
    own = sentence.words - _stems(sentence.answer(asked))
    found = [
      (len(own & each.words), each, span)
      for each, span in article.places.get(sentence.key(asked), ())
      if each.block != sentence.block and abs(each.row - sentence.row) < _NEAR
    ]
    found.sort(key=lambda each: -each[0])
    return [each[1:] for each in found[:_TRIED] if each[0] >= _SHARED_WORDS]

  def _word(
    self,
    article: _Article,
    sentence: _Sentence,
    answer: str,
    sources: list[tuple[_Sentence, question_spans.Asked]],
  ) -> str:
    """Returns a question of the first source that gives a good one, or ''."""
    own = sentence.words - _stems(answer)
    for each, asked in sources:
      question = question_wording.ask(
        each.text,
        asked,
        self._rng,
        title=article.title,
        is_person=article.is_person,
        begins_with_name=each.begins_with_name,
        known=self._known,
      )
      is_similar = len(own & _stems(question)) >= min(_SHARED_WORDS, len(own))
      if question and is_similar and _plain(answer) not in _plain(question):
        return question
    return ''

  def _read_article(self, number: int) -> _Article:
    """Reads the sentences of a title, and the persons that they name."""
    bounds = np.searchsorted(self._sorted, [number, number + 1])
    rows = self._order[slice(*bounds)]
    found = [self._queries.query(row) for row in rows]
    tokens = self._inputs.tokenizer.tokenize_batch(
      [each.text for each in found]
    )
    names = [
      list(
        zip(
          t.starts[each.spans[:, 0]].tolist(),
          t.ends[each.spans[:, 1] - 1].tolist(),
        )
      )
      for each, t in zip(found, tokens, strict=True)
    ]
    (title,) = self._inputs.table.titles([found[0].own_block])
    personal = sum(bool(_PERSONAL.match(each.text)) for each in found)
    is_person = personal > _PERSONAL_SHARE * len(found)
    people = {title.rpartition(' ')[2]} if is_person else set()
    for each, spans in zip(found, names, strict=True):
      people.update(question_spans.last_names(each.text, spans))
    width = self._inputs.config.model.max_span_width
    article = _Article(title, is_person, {}, collections.defaultdict(list))
    for row, each, t, spans in zip(
      rows.tolist(), found, tokens, names, strict=True
    ):
      asked = [
        one
        for one in question_spans.find(each.text, spans, people)
        if (pieces := t.span(one.start, one.end))
        and pieces[1] - pieces[0] <= width
      ]
      begins_with_name = any(not start for start, _ in spans)
      sentence = _Sentence(
        row,
        each.own_block,
        each.text,
        begins_with_name,
        _stems(each.text),
        asked,
      )
      article.sentences[row] = sentence
      for one in asked:
        if one.words:
          article.places[sentence.key(one)].append((sentence, one))
    return article


def _plain(text: str) -> str:
  return f' {" ".join(terms.ONE_WORD.findall(text.lower()))} '


def _stems(text: str) -> frozenset[str]:
  """Returns the beginnings of the words that say something."""
  words = terms.ONE_WORD.findall(text.lower())
  return frozenset(word[:_STEM] for word in words) - _FUNCTION_WORDS
