"""Looks at a text before anything is made of it: counts, mostly of a sample."""

import collections
from collections.abc import (
  Callable,
  Collection,
  Iterable,
  Iterator,
  Mapping,
  Sequence,
)
import random
import re
from typing import NamedTuple

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.corpus import salient_spans
from realm_tf.corpus import sources
from realm_tf.data import held_out
from realm_tf.text import sentences as sentences_lib

_SAMPLE = 400  # Articles whose sentences are tagged.
_BLOCK_WORDS = 60  # Words of a part of an article that counts as one block.
_MIN_WORDS = 5
_ENDS_LIKE_A_SENTENCE = re.compile(r'[.!?]["”’\')\]]*$')


class Survey(NamedTuple):
  """Counts of a text; words and sentences are estimates from a sample.

  Attributes:
    long_article: Words that nine tenths of the articles do not exceed.
    num_sentences: Sentences with a salient span.
    num_recurring: Sentences with a salient span that another part of the sample
      has, too.
    held_out_share: `held_out.share` that holds out a tenth of the titles; an
      article without one counts by its id.
  """

  num_articles: int
  num_words: int
  long_article: int
  num_sentences: int
  num_recurring: int
  held_out_share: float


def look(
  articles: Iterable[sources.Article],
  make_tagger: Callable[[Sequence[str]], salient_spans.Tagger],
  ids: Collection[str] = (),
) -> tuple[Survey, dict[str, str]]:
  """Returns the survey, and the names of the articles of `ids`.

  Args:
    make_tagger: Makes the tagger from the sample's texts.

  Raises:
    UserError: There is no article.
  """
  rng = random.Random(0)
  sample: list[sources.Article] = []
  names: set[str] = set()
  of_ids = {}
  number = 0
  for number, article in enumerate(articles, 1):
    name = article.title or article.article_id
    names.add(name)
    if article.article_id in ids:
      of_ids[article.article_id] = name
    # Reservoir sampling: each article is in the sample with equal probability.
    if number <= _SAMPLE:
      sample.append(article)
    elif (place := rng.randrange(number)) < _SAMPLE:
      sample[place] = article
  if not sample:
    raise errors.UserError(
      'The input must have an article with text. Found none. Give other files, '
      'or --format or --text_key.'
    )
  return _count(sample, number, names, make_tagger), of_ids


def split(
  questions: Sequence[questions_lib.Question], names: Mapping[str, str]
) -> tuple[list[questions_lib.Question], list[questions_lib.Question]]:
  """Returns questions to train on, and a tenth that only measures.

  All questions on one article, or title, are on one side. A question that names
  neither is decided by itself.

  Args:
    names: Article id -> name, from `look`.
  """
  named = [
    names.get(question.gold_id) or question.title or question.question
    for question in questions
  ]
  share = held_out.share_of(set(named))
  trained: list[questions_lib.Question] = []
  measured: list[questions_lib.Question] = []
  for question, name in zip(questions, named, strict=True):
    side = measured if held_out.is_held_out(name, share) else trained
    side.append(question)
  return trained, measured


def _count(
  sample: Sequence[sources.Article],
  num_articles: int,
  names: set[str],
  make_tagger: Callable[[Sequence[str]], salient_spans.Tagger],
) -> Survey:
  texts = [article.text for article in sample]
  tagger = make_tagger(texts)
  lengths = sorted(len(text.split()) for text in texts)
  parts_of = collections.defaultdict(set)  # Span -> parts with it.
  found = []  # Spans of each sentence.
  for number, text in enumerate(texts):
    for part, spans in _tagged(text, tagger):
      found.append(spans)
      for span in spans:
        parts_of[span].add((number, part))
  recurring = [any(len(parts_of[s]) > 1 for s in spans) for spans in found]
  factor = num_articles / len(sample)
  return Survey(
    num_articles,
    round(factor * sum(lengths)),
    lengths[int(0.9 * len(lengths))],
    round(factor * len(found)),
    round(factor * sum(recurring)),
    held_out.share_of(names),
  )


def _tagged(
  text: str, tagger: salient_spans.Tagger
) -> Iterator[tuple[int, set[str]]]:
  """Yields the part of each sentence with a span, and its spans."""
  sentences = [text[i:j] for i, j in sentences_lib.split_sentences(text)]
  num_words = 0
  for sentence, spans in zip(sentences, tagger.tag(sentences), strict=True):
    length = len(sentence.split())
    num_words += length
    is_long = length >= _MIN_WORDS
    if spans and is_long and _ENDS_LIKE_A_SENTENCE.search(sentence):
      names = {sentence[start:end].lower() for start, end in spans}
      yield num_words // _BLOCK_WORDS, names
