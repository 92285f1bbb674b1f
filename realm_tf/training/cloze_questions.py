"""Makes questions of sentences: a blank replaces a name that a block holds.

The reader learns to find answers without real questions: recurring span
selection (Ram et al. 2021, https://arxiv.org/abs/2101.00438). BM25 finds the
block; in the paper, the span recurs within one passage.
"""

from collections.abc import Iterator

import numpy as np

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import held_out
from realm_tf.data import masking
from realm_tf.data import query_table
from realm_tf.data import sampling
from realm_tf.retrieval import candidates
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.text import wordpiece
from realm_tf.training import job

_BLANK = 'what'  # Replaces the name, as in most questions.
_CHUNK = 512
_DEPTH = 20  # Blocks that may hold the name.
_MOST_TOKENS, _LONGEST_SPAN = 512, 10  # Limits of `query_table`.


def from_sentences(
  queries: query_table.QueryTable,
  inputs: job.Inputs,
  retriever: retriever_lib.Retriever,
  num_others: int = 0,
) -> list[questions_lib.Question]:
  """Returns at most one question for each sentence, in random order.

  A random span of the sentence is the answer, if one of the retriever's first
  blocks for the rest has the span; the sentence's own block does not count.
  Sentences of held-out articles (`held_out.share`) give no question. A job gets
  as many as its steps read, or all: 57,000 sentences take 40 s. Next to other
  questions they are `sentence_share` of all.

  Args:
    queries: X, after `fit_corpus`.
    num_others: Number of the other questions.

  Raises:
    UserError: No sentence gives a question.
  """
  share = inputs.config.held_out.share
  rows = held_out.others(held_out.queries(queries, inputs.table, share))
  rng = sampling.step_rng(inputs.config.seed, 0)
  rng.shuffle(rows)
  found: list[questions_lib.Question] = []
  config = inputs.config.finetuning
  most = config.optimizer.num_steps * config.batch_size
  if num_others:
    part = config.sentence_share
    most = min(most, round(num_others * part / (1 - part)))
  for start in range(0, len(rows), _CHUNK):
    if len(found) >= most:
      break
    found += _ask(queries, rows[start : start + _CHUNK], inputs, retriever, rng)
  if not found and most:
    raise errors.UserError(
      'A block must have a name that a sentence of another block has. Found '
      f'none for {len(rows)} sentences. Use a larger corpus.'
    )
  return found[:most] if num_others else found


def _ask(
  queries: query_table.QueryTable,
  rows: np.ndarray,
  inputs: job.Inputs,
  retriever: retriever_lib.Retriever,
  rng: np.random.Generator,
) -> Iterator[questions_lib.Question]:
  how = masking.Masking(
    'salient', _MOST_TOKENS, _LONGEST_SPAN, inputs.tokenizer.mask_id
  )
  masked = masking.mask_batch(queries, rows, how, rng)
  hits = retriever.retrieve(
    retriever_lib.masked(masked['query_ids'], inputs.tokenizer),
    _DEPTH + candidates.SPARE_HITS,
  )
  found, has_span = candidates.find_spans(
    hits.block_ids, masked, inputs.table, _DEPTH
  )
  for i in np.flatnonzero(has_span.any(axis=1)):
    question, answer = _blank_out(
      queries.query(rows[i]).text,
      masked['masked_positions'][i, masked['token_mask'][i] > 0],
      inputs.tokenizer,
    )
    gold = found[i, has_span[i].argmax()]
    yield questions_lib.Question(
      question,
      (answer,),
      question_id=f'cloze-{rows[i]}',
      gold_id=inputs.table.article_ids([gold])[0],
    )


def _blank_out(
  text: str, positions: np.ndarray, tokenizer: wordpiece.WordpieceTokenizer
) -> tuple[str, str]:
  """Returns the text without the wordpieces at `positions`, and their text."""
  tokens = tokenizer.tokenize(text)
  start, end = tokens.starts[positions[0]], tokens.ends[positions[-1]]
  return f'{text[:start]}{_BLANK}{text[end:]}', text[start:end]
