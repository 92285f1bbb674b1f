"""Articles -> blocks: the units that are retrieved and read (Section 4.1).

An article is cut greedily: whole sentences are packed while

  3 + title + body <= max_block_wordpieces   ([CLS] title [SEP] body [SEP])

and a block never crosses articles. A block's text is an exact slice of its
article's.
"""

from collections.abc import Iterable, Iterator, Sequence
import itertools
from typing import NamedTuple

import numpy as np

from realm_tf.corpus import sources
from realm_tf.text import sentences
from realm_tf.text import wordpiece

_NUM_SPECIALS = 3
_BATCH_ARTICLES = 1024
_LONGEST_PART = 500_000  # Characters; of an article that is a whole book.


class Block(NamedTuple):
  """A piece z of an article.

  Attributes:
    title: Of the article.
    text: The body, as it was written.
    article_id: Of the article.
    title_ids: int32 [Lt]; of a title too long for the block, its beginning.
    body_ids: int32 [Lz].
    sentence_ends: int32 [number of sentences]; where in `body_ids` each
      sentence ends. The last is Lz.
  """

  title: str
  text: str
  article_id: str
  title_ids: np.ndarray
  body_ids: np.ndarray
  sentence_ends: np.ndarray


def cut_corpus(
  articles: Iterable[sources.Article],
  tokenizer: wordpiece.WordpieceTokenizer,
  max_block_wordpieces: int = 288,
) -> Iterator[Block]:
  """Yields the blocks of all `articles`, in order, tokenizing in batches."""
  for batch in batches(articles):
    yield from cut_batch(batch, tokenizer, max_block_wordpieces)


def cut_batch(
  articles: Sequence[sources.Article],
  tokenizer: wordpiece.WordpieceTokenizer,
  max_block_wordpieces: int = 288,
) -> Iterator[Block]:
  """Yields the blocks of a batch that is tokenized at once."""
  titles = tokenizer.token_ids_batch([article.title for article in articles])
  texts = tokenizer.tokenize_batch([article.text for article in articles])
  for article, title_ids, tokens in zip(articles, titles, texts):
    # Titles are labels: they never take more than half a block.
    title_ids = title_ids[: max_block_wordpieces // 2]
    max_body = max_block_wordpieces - _NUM_SPECIALS - len(title_ids)
    ends = _sentence_token_ends(article.text, tokens)
    if len(ends) and np.max(np.diff(ends, prepend=0)) > max_body:
      is_start = tokenizer.word_starts(tokens)
      ends = _split_long(ends, is_start, max_body)
    for pieces in _pack(ends, max_body):
      yield _make_block(article, title_ids, tokens, pieces)


def uncut_batch(
  articles: Sequence[sources.Article], tokenizer: wordpiece.WordpieceTokenizer
) -> Iterator[Block]:
  """Yields each article as one block, all of it, however long it is."""
  titles = tokenizer.token_ids_batch([article.title for article in articles])
  texts = tokenizer.tokenize_batch([article.text for article in articles])
  for article, title_ids, tokens in zip(articles, titles, texts):
    ends = _sentence_token_ends(article.text, tokens).astype(np.int32)
    yield Block(
      article.title,
      article.text,
      article.article_id,
      title_ids,
      tokens.ids,
      ends,
    )


def batches(
  articles: Iterable[sources.Article],
) -> Iterator[list[sources.Article]]:
  """Groups articles for `cut_batch`, bounded in number and in characters."""
  parts = itertools.chain.from_iterable(map(_parts, articles))
  return sources.in_batches(parts, _BATCH_ARTICLES)


def _parts(article) -> Iterator[sources.Article]:
  """Parts an article that is as long as a book at ends of lines, or words."""
  text, start = article.text, 0
  if not article.is_wikitext:
    while len(text) - start > _LONGEST_PART:
      stop = start + _LONGEST_PART
      ends = (text.rfind(mark, start + 1, stop) for mark in ('\n', ' '))
      end = next((end for end in ends if end > 0), stop)
      yield article._replace(text=text[start:end])
      start = end
  yield article._replace(text=text[start:]) if start else article


def _sentence_token_ends(text: str, tokens: wordpiece.Tokens) -> np.ndarray:
  """Where in `tokens` each sentence ends, int64; sentences without any drop."""
  # Sentences end at white space, and so do tokens: none is cut.
  spans = sentences.split_sentences(text)
  ends = np.searchsorted(tokens.starts, [end for _, end in spans])
  return ends[np.diff(ends, prepend=0) > 0]


def _split_long(ends, is_start, max_tokens) -> np.ndarray:
  """Adds ends, at words, so that no sentence exceeds `max_tokens`."""
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
  """Groups sentences greedily; yields [start, end of each sentence] tokens."""
  first = 0
  while first < len(ends):
    start = ends[first - 1] if first else 0
    stop = np.searchsorted(ends, start + max_tokens, side='right')
    yield np.concatenate([[start], ends[first:stop]])
    first = stop


def _make_block(article, title_ids, tokens, pieces) -> Block:
  start, end = pieces[0], pieces[-1]
  text = article.text[tokens.starts[start] : tokens.ends[end - 1]]
  return Block(
    article.title,
    text,
    article.article_id,
    title_ids,
    tokens.ids[start:end],
    (pieces[1:] - start).astype(np.int32),
  )
