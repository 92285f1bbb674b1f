"""Looks at a text before anything is made of it: counts, mostly of a sample."""

import collections
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
import random
import re
from typing import Any

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import questions as questions_lib
from realm_tf.corpus import sources
from realm_tf.data import held_out
from realm_tf.data import query_table

_SAMPLE = 400  # Articles whose sentences are tagged.
_BLOCK_WORDS = 60  # Words of a part of an article that counts as one block.
_MIN_WORDS = 5
_TOKEN = re.compile(r'\w+|[^\w\s]')
_PIECES_OF_TOKEN = 1.12  # Wordpieces, by BERT's vocabulary.


def look(
  articles: Iterable[sources.Article],
  make_tagger: Callable[[Sequence[str]], interfaces.Tagger],
  ids: Collection[str] = (),
) -> tuple[dict[str, Any], dict[str, str]]:
  """Returns counts of a text, and the names of the articles of `ids`.

  The counts of words and sentences are estimates from a sample, from whose
  texts `make_tagger` makes the tagger. UserError without an article.
  """
  rng = random.Random(0)
  sample: list[tuple[str, ...]] = []
  names: set[str] = set()
  of_ids = {}
  number = 0
  for number, article in enumerate(articles, 1):
    name = article.title or article.article_id
    names.add(name)
    if article.article_id in ids:
      of_ids[article.article_id] = name
    # Reservoir sampling: each article is in the sample with equal probability.
    place = number - 1 if number <= _SAMPLE else rng.randrange(number)
    if place < _SAMPLE:
      sample[place : place + 1] = [article[:2]]
  if not sample:
    raise errors.UserError(
      'The input must have an article with text. Found none. Give other files, '
      'or --format or --text_key.'
    )
  titles, texts = zip(*sample, strict=True)
  lengths = sorted(len(text.split()) for text in texts)
  found = _tagged(texts, make_tagger(texts))
  factor = number / len(sample)
  survey = {
    'num_articles': number,
    'num_words': round(factor * sum(lengths)),
    'num_pieces': round(factor * _num_pieces(texts)),
    'title_pieces': round(_num_pieces(titles) / len(titles)),
    # Words that nine tenths of the articles do not exceed.
    'long_article': lengths[int(0.9 * len(lengths))],
    # With a salient span, and with one that another part of the sample has.
    'num_sentences': round(factor * len(found)),
    'num_recurring': round(factor * _num_recurring(found)),
    # The share that holds out a tenth of the titles, or of ids without one.
    'held_out_share': held_out.share_of(names),
  }
  return survey, of_ids


def _num_recurring(found: Sequence[tuple[Any, set[str]]]) -> int:
  """Returns how many sentences have a span that several parts have."""
  parts = {(span, part) for part, spans in found for span in spans}
  num_parts = collections.Counter(span for span, _ in parts)
  return sum(any(num_parts[span] > 1 for span in spans) for _, spans in found)


def _num_pieces(texts: Iterable[str]) -> float:
  """Returns about how many wordpieces some texts have."""
  return _PIECES_OF_TOKEN * sum(len(_TOKEN.findall(text)) for text in texts)


def _tagged(
  texts: Sequence[str], tagger: interfaces.Tagger
) -> list[tuple[tuple[int, int], set[str]]]:
  """Returns the part and the spans of each sentence with a span.

  A part is (number of the text, number in the text).
  """
  found = []
  for number, text in enumerate(texts):
    sentences = query_table.split(text, counts_lib.Counts())
    num_words = 0
    for sentence, spans in zip(sentences, tagger.tag(sentences), strict=True):
      length = len(sentence.split())
      num_words += length
      if spans and length >= _MIN_WORDS:
        names = {sentence[start:end].lower() for start, end in spans}
        found.append(((number, num_words // _BLOCK_WORDS), names))
  return found


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
  sides: tuple[list, list] = [], []
  for question, name in zip(questions, named, strict=True):
    sides[held_out.is_held_out(name, share)].append(question)
  return sides
