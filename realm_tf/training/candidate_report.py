"""Writes examples.jsonl: sentences with their candidates, as in Table 3."""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import tensorflow as tf

from realm_tf.data import block_table
from realm_tf.data import null_block
from realm_tf.model import marginal_likelihood
from realm_tf.model import retrieval_utility
from realm_tf.retrieval import candidates
from realm_tf.run import examples as examples_lib
from realm_tf.text import wordpiece
from realm_tf.training import pretraining_batches
from realm_tf.training import pretraining_trainer

_NUM_QUERIES = 8
_DIGITS = 6


def write(
  trainer: pretraining_trainer.PretrainingTrainer,
  table: block_table.BlockTable,
  tokenizer: wordpiece.WordpieceTokenizer,
  *,
  run_dir: str,
) -> None:
  """Replaces the examples by the last batch's first queries, scored now."""
  last: Mapping[str, Any] = trainer.last_batch or {}
  batch = {name: each[:_NUM_QUERIES] for name, each in last.items()}
  scores, token_log_probs = trainer.score(
    cast(
      pretraining_batches.Batch,
      {name: tf.constant(value) for name, value in batch.items()},
    )
  )
  log_p_y = marginal_likelihood.query_log_likelihood(
    token_log_probs, tf.constant(batch['token_mask'])
  )  # [B, K]
  numbers = np.stack(
    [
      tf.nn.softmax(scores),
      tf.exp(log_p_y),
      retrieval_utility.block_utility(log_p_y),
    ],
    axis=-1,
  )
  step = int(trainer.global_step.numpy())
  examples = []
  for i, ids in enumerate(batch['candidate_ids']):
    query, masked = _query({name: batch[name][i] for name in batch}, tokenizer)
    found = _candidates(ids, numbers[i], table)
    examples.append(examples_lib.Example(step, query, masked, found))
  examples_lib.write(run_dir, examples)


def _query(
  row: dict[str, np.ndarray], tokenizer: wordpiece.WordpieceTokenizer
) -> tuple[str, list[tuple[int, int]]]:
  """Returns a query's unmasked text, and the masked ranges of characters."""
  ids = row['query_ids'].copy()
  positions = row['masked_positions'][row['token_mask'] > 0]
  is_masked = np.zeros(len(ids), bool)
  is_masked[positions] = True
  ids[positions] = row['gold_ids'][row['token_mask'] > 0]
  text, masked, was_masked = '', [], False
  for piece, hidden in zip(ids, is_masked):
    if piece == tokenizer.pad_id:
      continue
    # Single pieces, for their characters; '##' continues the last piece's word.
    longer = tokenizer.detokenize([piece])
    glued = bool(tokenizer.continuation(piece)) or not text
    start = len(text) + (not glued)
    text += longer.removeprefix('##') if glued else f' {longer}'
    if hidden and was_masked:
      masked[-1] = (masked[-1][0], len(text))
    elif hidden:
      masked.append((start, len(text)))
    was_masked = hidden
  return text, masked


def _candidates(
  ids: np.ndarray, numbers: np.ndarray, table: block_table.BlockTable
) -> list[examples_lib.Candidate]:
  """Returns one query's candidates, the most probable first.

  `numbers` are p(z|x), p(y|z,x) and utility, float32 [K, 3].
  """
  # Without a null block (in the reader's warm-up) there is no utility.
  has_null = ids[retrieval_utility.NULL_POSITION] == null_block.ID
  is_real = candidates.is_real(ids[None])[0]
  found = []
  for k in np.argsort(-numbers[:, 0], kind='stable'):
    if not is_real[k]:
      continue
    block, title, text = None, '', ''
    if ids[k] != null_block.ID:
      block = int(ids[k])
      (title,), (text,) = table.titles([block]), table.texts([block])
    p_z, p_y, utility = (float(f'{x:.{_DIGITS}g}') for x in numbers[k])
    found.append(
      examples_lib.Candidate(
        block, title, text, p_z, p_y, utility if has_null else None
      )
    )
  return found
