"""Masked sentences with their candidates as text, as in the paper's Table 3."""

import numpy as np
import tensorflow as tf

from realm_tf.objectives import marginal_likelihood
from realm_tf.records import block_table
from realm_tf.rundir import layout
from realm_tf.text import wordpiece
from realm_tf.training import pretraining_trainer

_NUM_QUERIES = 4
_SHOWN_CHARACTERS = 160


def write(
  trainer: pretraining_trainer.PretrainingTrainer,
  table: block_table.BlockTable,
  tokenizer: wordpiece.WordpieceTokenizer,
  run_dir: str,
) -> None:
  """Writes the first queries of the last batch as a TensorBoard text."""
  batch = {
    name: value[:_NUM_QUERIES] for name, value in trainer.last_batch.items()
  }
  scores, token_log_probs = trainer.score(
    {name: tf.constant(value) for name, value in batch.items()}
  )
  p_z = tf.nn.softmax(scores).numpy()
  p_y = tf.exp(
    marginal_likelihood.query_log_likelihood(
      token_log_probs, tf.constant(batch['token_mask'])
    )
  ).numpy()
  text = '\n\n'.join(
    _query_text(batch, i, p_z[i], p_y[i], table, tokenizer)
    for i in range(len(p_z))
  )
  writer = tf.summary.create_file_writer(layout.summary_dir(run_dir))
  with writer.as_default(step=int(trainer.global_step.numpy())):
    tf.summary.text('candidates', text)
  writer.close()


def _query_text(batch, i, p_z, p_y, table, tokenizer):
  """Returns a Markdown table of one query's candidates."""
  query_ids = batch['query_ids'][i]
  gold = batch['gold_ids'][i][batch['token_mask'][i] > 0]
  query = tokenizer.detokenize(query_ids[query_ids > 0])
  lines = [
    f'**{query}** ({tokenizer.detokenize(gold)})',
    '',
    '| p(z\\|x) | p(y\\|z,x) | block |',
    '|---|---|---|',
  ]
  for k in np.argsort(-p_z, kind='stable'):
    block = int(batch['candidate_ids'][i, k])
    shown = '(null block)'
    if block != block_table.NULL_BLOCK:
      text = table.texts([block])[0][:_SHOWN_CHARACTERS].replace('|', '/')
      shown = f'{table.titles([block])[0]}: {text}'.replace('\n', ' ')
    lines.append(f'| {p_z[k]:.3f} | {p_y[k]:.3f} | {shown} |')
  return '\n'.join(lines)
