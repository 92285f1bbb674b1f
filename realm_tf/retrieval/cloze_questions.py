"""Questions made of sentences: a name is left out, and a block answers.

  sentences with spans, corpus -> [this file] -> questions for fine-tuning

A reader of spans learns from them what an answer is, and where it ends, before
it sees a question: Ram et al. 2021 (https://arxiv.org/abs/2101.00438), with the
block that BM25 finds in place of another part of the passage.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from realm_tf.records import block_table
from realm_tf.records import masking
from realm_tf.records import query_table
from realm_tf.records import sampling
from realm_tf.retrieval import span_recall
from realm_tf.text import spans as spans_lib
from realm_tf.text import wordpiece

_BLANK = 'what'  # Stands for the name, as the word does in most questions.
_CHUNK = 512
_DEPTH = 20  # Blocks that are looked through for the name.
_MOST_TOKENS, _LONGEST_SPAN = 512, 10  # Of a sentence; of `query_table`.


def of_sentences(
  queries: query_table.QueryTable,
  table: block_table.BlockTable,
  search: Callable[[np.ndarray, int], np.ndarray],
  tokenizer: wordpiece.WordpieceTokenizer,
  seed: int,
) -> Iterator[dict[str, Any]]:
  """Yields objects of a questions file, in random order.

  A sentence makes one question, of a random span, if one of the first blocks
  that are found for the rest has the span; its own block does not count.

  Args:
    queries: X, after `fit_corpus`.
    table: The corpus.
    search: (query_ids int [B, Lx], k) -> block ids [B, k], best first.
    tokenizer: That of the corpus.
    seed: Random seed of the order and of the spans.
  """
  rng = sampling.step_rng(seed, 0)
  order = rng.permutation(queries.num_queries)
  how = masking.Masking(
    'salient', _MOST_TOKENS, _LONGEST_SPAN, tokenizer.mask_id
  )
  for start in range(0, len(order), _CHUNK):
    rows = order[start : start + _CHUNK]
    masked = masking.mask_batch(queries, rows, how, rng)
    hits = search(masked['query_ids'], _DEPTH + span_recall.SPARE_HITS)
    found, has_span = span_recall.find(hits, masked, table, _DEPTH)
    for i in np.flatnonzero(has_span.any(axis=1)):
      positions = masked['masked_positions'][i, masked['token_mask'][i] > 0]
      block = found[i, has_span[i].argmax()]
      yield {
        **_blank_out(queries.query(rows[i]).text, positions, tokenizer),
        'id': f'cloze-{rows[i]}',
        'gold_id': table.article_ids([block])[0],
      }


def _blank_out(text, positions, tokenizer):
  """Returns the question without the wordpieces at `positions`, the answer."""
  start, end = spans_lib.token_to_char_span(
    tokenizer.tokenize(text), positions[0], positions[-1] + 1
  )
  return {
    'question': f'{text[:start]}{_BLANK}{text[end:]}',
    'answers': [text[start:end]],
  }
