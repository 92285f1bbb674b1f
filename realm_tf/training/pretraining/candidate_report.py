"""Masked sentences with their candidates, as in the paper's Table 3.

last batch + scores of the trainer -> <run_dir>/examples.jsonl, and the same
as a text in TensorBoard
"""

from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf

from realm_tf.objectives import marginal_likelihood
from realm_tf.objectives import retrieval_utility
from realm_tf.records import block_table
from realm_tf.retrieval import candidates
from realm_tf.rundir import examples as examples_lib
from realm_tf.rundir import layout
from realm_tf.text import wordpiece
from realm_tf.training.pretraining import pretraining_trainer

_NUM_QUERIES = 8
_SHOWN_CHARACTERS = 160
_DIGITS = 6


def write(
  trainer: pretraining_trainer.PretrainingTrainer,
  table: block_table.BlockTable,
  tokenizer: wordpiece.WordpieceTokenizer,
  *,
  run_dir: str,
) -> None:
  """Replaces the examples by the first queries of the last batch.

  Args:
    trainer: Trainer after at least one step.
    run_dir: Directory for the examples and a summary.
  """
  examples = collect(trainer, table, tokenizer)
  examples_lib.write(run_dir, examples)
  writer = tf.summary.create_file_writer(layout.summary_dir(run_dir))
  with writer.as_default(step=int(trainer.global_step.numpy())):
    text = '\n\n'.join(as_markdown(example) for example in examples)
    tf.summary.text('candidates', text)
  writer.close()


def collect(
  trainer: pretraining_trainer.PretrainingTrainer,
  table: block_table.BlockTable,
  tokenizer: wordpiece.WordpieceTokenizer,
) -> list[examples_lib.Example]:
  """Returns the first queries of the last batch, scored as of now."""
  batch = {
    name: value[:_NUM_QUERIES] for name, value in trainer.last_batch.items()
  }
  scores, token_log_probs = trainer.score(
    {name: tf.constant(value) for name, value in batch.items()}
  )
  log_p_y = marginal_likelihood.query_log_likelihood(
    token_log_probs, tf.constant(batch['token_mask'])
  )  # [B, K]
  numbers = {
    'p_z': tf.nn.softmax(scores).numpy(),
    'p_y': tf.exp(log_p_y).numpy(),
    'utility': retrieval_utility.block_utility(log_p_y).numpy(),
  }
  step = int(trainer.global_step.numpy())
  found = []
  for i, ids in enumerate(batch['candidate_ids']):
    row = {name: values[i] for name, values in numbers.items()}
    query, masked = _query(batch, i, tokenizer)
    found.append(
      examples_lib.Example(step, query, masked, _candidates(ids, row, table))
    )
  return found


def as_markdown(example: examples_lib.Example) -> str:
  """Returns a query, what was masked in bold, and a table of its candidates."""
  lines = [
    ''.join(
      f'**{_cell(text)}**' if masked else _cell(text)
      for text, masked in example.pieces()
    ),
    '',
    '| p(z\\|x) | p(y\\|z,x) | utility | block |',
    '|---|---|---|---|',
  ]
  for candidate in example.candidates:
    shown = '(null block)'
    if candidate.block_id is not None:
      shown = f'{candidate.title}: {candidate.text[:_SHOWN_CHARACTERS]}'
    utility = '' if candidate.utility is None else f'{candidate.utility:+.2f}'
    lines.append(
      f'| {candidate.p_z:.3f} | {candidate.p_y:.3f} | {utility} '
      f'| {_cell(shown)} |'
    )
  return '\n'.join(lines)


def _query(
  batch: Mapping[str, np.ndarray],
  i: int,
  tokenizer: wordpiece.WordpieceTokenizer,
) -> tuple[str, list[tuple[int, int]]]:
  """Returns the i-th query, masks filled in, and the characters under them."""
  ids = batch['query_ids'][i].copy()
  used = batch['token_mask'][i] > 0
  is_masked = np.zeros(len(ids), bool)
  is_masked[batch['masked_positions'][i][used]] = True
  ids[batch['masked_positions'][i][used]] = batch['gold_ids'][i][used]
  real = ids != tokenizer.pad_id
  text, masked, was_masked = '', [], False
  for piece, hidden in zip(ids[real], is_masked[real]):
    # One piece at a time tells the characters; '##' joins it to those before.
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
  ids: np.ndarray,
  numbers: Mapping[str, np.ndarray],
  table: block_table.BlockTable,
) -> Sequence[examples_lib.Candidate]:
  """Returns one query's candidates, the most probable first.

  Args:
    ids: int32 [K].
    numbers: 'p_z', 'p_y' and 'utility', float32 [K] each.
  """
  # While the reader is warmed up, there is no null block to compare with.
  has_null = ids[retrieval_utility.NULL_POSITION] == block_table.NULL_BLOCK
  is_real = candidates.is_real(ids[None])[0]
  found = []
  for k in np.argsort(-numbers['p_z'], kind='stable'):
    if not is_real[k]:
      continue
    block = int(ids[k])
    is_null = block == block_table.NULL_BLOCK
    p_z, p_y, utility = (
      float(f'{numbers[name][k]:.{_DIGITS}g}')
      for name in ('p_z', 'p_y', 'utility')
    )
    found.append(
      examples_lib.Candidate(
        None if is_null else block,
        '' if is_null else table.titles([block])[0],
        '' if is_null else table.texts([block])[0],
        p_z,
        p_y,
        utility if has_null else None,
      )
    )
  return found


def _cell(text: str) -> str:
  """Returns `text` as it may stand in a table of Markdown."""
  return text.replace('|', '/').replace('\n', ' ')
