"""Makes questions of sentences: a blank replaces a name that a block holds.

The reader learns to find answers without real questions: recurring span
selection (Ram et al. 2021, https://arxiv.org/abs/2101.00438). BM25 finds the
block; in the paper, the span recurs within one passage.
"""

from collections.abc import Iterator

import numpy as np

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import held_out
from realm_tf.data import masking
from realm_tf.data import query_table
from realm_tf.data import sampling
from realm_tf.retrieval import candidates
from realm_tf.retrieval import retriever
from realm_tf.training import job

_BLANK = 'what'  # Replaces a name, as in most questions.
_SENTENCES = 512  # Masked at once.
_DEPTH = 20  # Blocks that may hold the name.
_MOST_TOKENS, _LONGEST_SPAN = 512, 10  # Limits of `query_table`.


def from_sentences(
  queries: query_table.QueryTable,
  inputs: job.Inputs,
  search: interfaces.Retriever,
  num_others: int = 0,
) -> list[questions_lib.Question]:
  """Returns at most one question for each sentence, in random order.

  A blank replaces a random span of the sentence, the answer, if one of the
  first blocks that `search` finds for the rest has the span; the sentence's own
  block does not count. Sentences of held-out articles (`held_out.share`) give
  no question. A job gets as many as its steps read, or all: 57,000 sentences
  take 40 s. Next to other questions they are `sentence_share` of all.

  Args:
    queries: X, after `fit_corpus`.
    num_others: Number of the other questions.

  Raises:
    UserError: No sentence gives a question.
  """
  rows, most, rng = choose_sentences(queries, inputs, num_others)
  made: list[questions_lib.Question] = []
  for start in range(0, len(rows), _SENTENCES):
    if len(made) >= most:
      break
    made += _ask(queries, rows[start : start + _SENTENCES], inputs, search, rng)
  if not made and most:
    raise errors.UserError(
      'A block must have a name that a sentence of another block has. Found '
      f'none for {len(rows)} sentences. Use a larger corpus.'
    )
  return made[:most] if num_others else made


def choose_sentences(
  queries: query_table.QueryTable, inputs: job.Inputs, num_others: int
) -> tuple[np.ndarray, int, np.random.Generator]:
  """Returns the sentences to ask of, and the most questions that a job reads.

  Also returns the generator that shuffled the sentences. Arguments are as in
  `from_sentences`.
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
  return rows, most, rng


def _ask(
  queries: query_table.QueryTable,
  rows: np.ndarray,
  inputs: job.Inputs,
  search: interfaces.Retriever,
  rng: np.random.Generator,
) -> Iterator[questions_lib.Question]:
  tokenizer = inputs.tokenizer
  how = masking.Masking(
    'salient', _MOST_TOKENS, _LONGEST_SPAN, tokenizer.mask_id
  )
  masked = masking.mask_batch(queries, rows, how, rng)
  hits = search.retrieve(
    retriever.masked(masked['query_ids'], tokenizer),
    _DEPTH + candidates.SPARE_HITS,
  )
  found, has_span = candidates.find_spans(
    hits.block_ids, masked, inputs.table, _DEPTH
  )
  for i in np.flatnonzero(has_span.any(axis=1)):
    text = queries.query(rows[i]).text
    tokens = tokenizer.tokenize(text)
    positions = masked['masked_positions'][i, masked['token_mask'][i] > 0]
    start, end = tokens.starts[positions[0]], tokens.ends[positions[-1]]
    gold = found[i, has_span[i].argmax()]
    yield questions_lib.Question(
      f'{text[:start]}{_BLANK}{text[end:]}',
      (text[start:end],),
      question_id=f'cloze-{rows[i]}',
      gold_id=inputs.table.article_ids([gold])[0],
    )
