"""Cuts articles into blocks, the units of retrieval (Section 4.1).

A block holds as many whole sentences of one article as fit in

  3 + title + body <= max_block_wordpieces   ([CLS] title [SEP] body [SEP])

Its text is an exact slice of the article's.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from realm_tf.corpus import sources
from realm_tf.text import sentences
from realm_tf.text import wordpiece

_NUM_SPECIALS = 3
_BATCH_ARTICLES = 1024
_LONGEST_PART = 500_000  # Characters; longer articles are tokenized in parts.


class Block(NamedTuple):
  """A block z of an article.

  Attributes:
    text: The body.
    title_ids: int32 [Lt], cut to at most half a block.
    body_ids: int32 [Lz].
    sentence_ends: End of each sentence in `body_ids`, int32; the last is Lz.
  """

  title: str
  text: str
  article_id: str
  title_ids: np.ndarray
  body_ids: np.ndarray
  sentence_ends: np.ndarray


def cut_batch(
  articles: Sequence[sources.Article],
  tokenizer: wordpiece.WordpieceTokenizer,
  max_block_wordpieces: int | None = 288,
) -> Iterator[Block]:
  """Yields the blocks of articles, which one call tokenizes.

  With `max_block_wordpieces` None each article is one block.
  """
  titles = tokenizer.token_ids_batch([article.title for article in articles])
  texts = tokenizer.tokenize_batch([article.text for article in articles])
  for article, title_ids, tokens in zip(articles, titles, texts):
    # Sentences end at white space, never inside a token; some have no token.
    spans = sentences.split_sentences(article.text)
    ends = np.searchsorted(tokens.starts, [end for _, end in spans])
    ends = ends[np.diff(ends, prepend=0) > 0]
    if max_block_wordpieces is None:
      yield Block(*article[:3], title_ids, tokens.ids, ends.astype(np.int32))
      continue
    # A long title must leave room for the body.
    title_ids = title_ids[: max_block_wordpieces // 2]
    max_body = max_block_wordpieces - _NUM_SPECIALS - len(title_ids)
    if len(ends) and np.max(np.diff(ends, prepend=0)) > max_body:
      ends = _split_long(ends, tokenizer.word_starts(tokens), max_body)
    for pieces in _pack(ends, max_body):
      start, end = pieces[0], pieces[-1]
      yield Block(
        article.title,
        article.text[tokens.starts[start] : tokens.ends[end - 1]],
        article.article_id,
        title_ids,
        tokens.ids[start:end],
        (pieces[1:] - start).astype(np.int32),
      )


def batches(
  articles: Iterable[sources.Article],
) -> Iterator[list[sources.Article]]:
  """Yields lists for `cut_batch`, bounded in number and in characters."""
  parts = (
    article._replace(text=part)
    for article in articles
    for _, part in sentences.parts(article.text, _LONGEST_PART, ('\n', ' '))
  )
  return sources.in_batches(parts, _BATCH_ARTICLES)


def _split_long(
  ends: np.ndarray, is_start: np.ndarray, max_tokens: int
) -> np.ndarray:
  """Adds ends between words so that no sentence exceeds `max_tokens`."""
  split, start = [], 0
  for end in ends:
    while end - start > max_tokens:
      choices = np.flatnonzero(is_start[start + 1 : start + max_tokens + 1])
      start += choices[-1] + 1 if len(choices) else max_tokens
      split.append(start)
    split.append(end)
    start = end
  return np.array(split)


def _pack(ends: np.ndarray, max_tokens: int) -> Iterator[np.ndarray]:
  """Groups sentences greedily; yields [start, end of each sentence]."""
  first = 0
  while first < len(ends):
    start = ends[first - 1] if first else 0
    stop = np.searchsorted(ends, start + max_tokens, side='right')
    yield np.concatenate([[start], ends[first:stop]])
    first = stop
