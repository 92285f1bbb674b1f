"""Makes pre-training queries x from sentences: wordpieces and salient spans.

A query names its own block, which holds the sentence: retrieval leaves it out,
as reading it would make the prediction trivial (Section 3.4).
"""

from collections.abc import Iterable, Iterator, Sequence
import itertools
import re
from typing import Optional

import numpy as np

from realm_tf import interfaces
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import salient_spans
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import query_table
from realm_tf.text import sentences as sentences_lib
from realm_tf.text import wordpiece

_MIN_TOKENS = 6
_WITHOUT_SPAN = 'sentence without salient span'
_BATCH_SENTENCES = 8192
_GAP = '\n\0\n'  # Between blocks: no sentence has it.
# Headings, list items and leftover markup do not match.
_ENDS_LIKE_A_SENTENCE = re.compile(r'[.!?]["”’\')\]]*$')


def queries_from_articles(
  articles: Iterable[sources.Article],
  tokenizer: wordpiece.WordpieceTokenizer,
  tagger: Optional[interfaces.Tagger],
  table: block_table.BlockTable,
  counts: counts_lib.Counts,
) -> Iterator[query_table.Query]:
  """Yields a query for each sentence that is long enough.

  Args:
    tagger: Finds salient spans; sentences without one are dropped. None keeps
      all, for random masks.
    table: Corpus of the own blocks; articles match it by id or title.
    counts: Receives the sentences that are kept and left out.
  """
  for batch in sources.in_batches(articles):
    texts, blocks = [], []
    for article in batch:
      own = split(article.text, counts)
      texts += own
      blocks += find_own_blocks(own, article.article_id, article.title, table)
    found = tagger.tag(texts) if tagger else [[] for _ in texts]
    for spans, query in zip(
      found, _make_queries(texts, found, blocks, tokenizer), strict=True
    ):
      if not query:
        counts.drop('short sentence')
      elif tagger and not len(query.spans):
        counts.drop(_WITHOUT_SPAN)
      else:
        counts.keep('sentences')
        for (start, end), kind in salient_spans.with_kinds(spans).items():
          counts.keep_span(kind, query.text[start:end])
        yield query


def describe_spans(counts: counts_lib.Counts) -> str:
  """Returns the spans of each kind, and advice if few sentences have one."""
  parts = [
    f'{number:,} {kind} ({", ".join(counts.examples[kind])})'
    for kind, number in counts.spans.most_common()
  ]
  text = f' Spans: {"; ".join(parts)}.' if parts else ''
  kept, left_out = counts.kept['sentences'], counts.left_out[_WITHOUT_SPAN]
  if left_out > kept:
    text += (
      f' Only {kept:,} of {kept + left_out:,} sentences have a span. For more, '
      'use --tagger=rules+terms, or add articles on the same subjects.'
    )
  return text


def queries_from_sentences(
  sentences: Iterable[sources.TaggedSentence],
  tokenizer: wordpiece.WordpieceTokenizer,
  table: block_table.BlockTable,
) -> Iterator[query_table.Query]:
  """Yields a query for each sentence that is long enough."""
  sentences = iter(sentences)
  while batch := list(itertools.islice(sentences, _BATCH_SENTENCES)):
    blocks = []
    for (article_id, title), group in itertools.groupby(
      batch, lambda sentence: (sentence.article_id, sentence.title)
    ):
      texts = [sentence.text for sentence in group]
      blocks += find_own_blocks(texts, article_id, title, table)
    queries = _make_queries(
      [sentence.text for sentence in batch],
      [sentence.spans for sentence in batch],
      blocks,
      tokenizer,
    )
    yield from filter(None, queries)


def find_own_blocks(
  sentences: Sequence[str],
  article_id: str,
  title: str,
  table: block_table.BlockTable,
) -> list[int]:
  """Returns the block that holds each sentence of an article, or -1.

  Sentences must be in the article's order. The title, unless it is '', finds an
  article that has another id in the corpus.
  """
  ids = table.find_article(article_id)
  if title:
    ids = np.union1d(ids, table.find_title(title))
  bodies = table.texts(ids)
  text = _GAP.join(bodies)
  starts = np.cumsum([0] + [len(body) + len(_GAP) for body in bodies])
  found: list[int] = []
  last = 0
  for sentence in sentences:
    # Sentences come in order, so the search continues from the last hit.
    place = text.find(sentence, last)
    if place < 0:  # Only the text before it is left.
      place = text.find(sentence, 0, last + len(sentence) - 1)
    if place < 0:
      found.append(interfaces.NULL_BLOCK)
      continue
    found.append(int(ids[np.searchsorted(starts, place, 'right') - 1]))
    last = place
  return found


def split(text: str, counts: counts_lib.Counts) -> list[str]:
  """Returns the sentences of a text, without headings and list items."""
  spans = sentences_lib.split_sentences(text)
  sentences = [
    text[start:end]
    for start, end in spans
    if _ENDS_LIKE_A_SENTENCE.search(text, start, end)
  ]
  counts.drop('heading or list item', len(spans) - len(sentences))
  return sentences


def _make_queries(
  texts: Sequence[str],
  spans: Sequence[interfaces.Spans],
  blocks: Sequence[int],
  tokenizer: wordpiece.WordpieceTokenizer,
) -> Iterator[Optional[query_table.Query]]:
  """Yields the query of each text, or None if it is short."""
  for text, tokens, found, block in zip(
    texts, tokenizer.tokenize_batch(texts), spans, blocks
  ):
    if len(tokens.ids) < _MIN_TOKENS:
      yield None
      continue
    token_spans = [
      span for start, end in found if (span := tokens.span(start, end))
    ]
    yield query_table.Query(
      ids=tokens.ids,
      spans=np.array(token_spans, np.int32).reshape(-1, 2),
      own_block=block,
      text=text,
    )
