"""Runs REALM pre-training next to a refresher on the same run directory.

Publishes parameters for it, and examples: queries with their candidates.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf import interfaces
from realm_tf.data import block_table
from realm_tf.data import query_table
from realm_tf.data import whole_blocks
from realm_tf.model import objectives
from realm_tf.model import realm_model
from realm_tf.retrieval import candidates
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.run import examples as examples_lib
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.text import wordpiece
from realm_tf.training import held_out_versions
from realm_tf.training import index_search
from realm_tf.training import job as job_lib
from realm_tf.training import loop
from realm_tf.training import pretraining_batches
from realm_tf.training import pretraining_trainer

_KEPT_VERSIONS = 3
_NUM_EXAMPLES, _DIGITS = 8, 6


def run(
  inputs: job_lib.Inputs,
  queries_dir: str,
  job: job_lib.Job,
  *,
  retriever: interfaces.Retriever | None = None,
  words: interfaces.Retriever | None = None,
  keep_best: str | None = None,
) -> None:
  """Pre-trains and publishes parameters for the refresher.

  Args:
    queries_dir: Directory of X.
    retriever: Replaces the refresher's indexes, e.g. by BM25.
    words: Alternates with the refresher's indexes, for 'hybrid' candidates.
    keep_best: Metric of the best version; a UserError without held-out queries.
  """
  config = inputs.config
  queries = query_table.QueryTable.open(queries_dir, verify=True)
  queries.fit_corpus(inputs.table)
  reading = whole_blocks.of_pretraining(config)
  whole_blocks.check(inputs.table, config.lengths, reading)
  measured = held_out_versions.choose(queries, inputs, job, keep_best)
  parts = [realm_model.MASKED_LM, realm_model.EMBEDDER]
  chosen = type(retriever), type(words), keep_best
  data = {'queries': queries.manifest, '--keep_best or candidates': chosen}
  model = job.create_model(inputs, parts, data)
  run_loop = loop.Loop(
    job,
    config.pretraining,
    config.seed,
    lambda optimizer: pretraining_trainer.PretrainingTrainer(
      optimizer, model, config, special_ids=inputs.tokenizer.special_ids
    ),
  )
  batches = _batches(queries, inputs, job, run_loop, retriever, words)
  held_out = None
  if len(measured):
    held_out = held_out_versions.HeldOutVersions(
      held_out_versions.HeldOutQueries(
        inputs, queries, measured, trainer=run_loop.trainer
      ),
      model,
      job.run_dir,
      until=run_loop.step,
      retriever=retriever,
      metric=keep_best,
    )
  _train(inputs, job.run_dir, run_loop, batches, held_out)


def _batches(
  queries: query_table.QueryTable,
  inputs: job_lib.Inputs,
  job: job_lib.Job,
  run_loop: loop.Loop,
  retriever: interfaces.Retriever | None,
  words: interfaces.Retriever | None,
) -> Iterator[dict[str, Any]]:
  """Yields batches found by `retriever`, or by the refresher's indexes."""
  index = index_step = sentences = None
  if not retriever:
    index = index_search.IndexSearch(
      inputs,
      job.run_dir,
      strategy=job.strategy,
      wait=run_loop.trainer.pause,
      share=run_loop.share,
    )
    retriever = retriever_lib.Alternating(index, words) if words else index
    index_step = lambda: index.step
  if inputs.config.pretraining.inverse_cloze_weight:
    sentences = pretraining_batches.Sentences(
      inputs.table,
      inputs.ordinary_ids,
      experiment=inputs.config,
      share=run_loop.share,
    )
  batches = pretraining_batches.Batches(
    queries,
    inputs.table,
    retriever,
    tokenizer=inputs.tokenizer,
    experiment=inputs.config,
    share=run_loop.share,
    index_step=index_step,
    sentences=sentences,
  )
  if index and index.uses_devices:
    return loop.prefetch_between_steps(batches.masked(), batches.begin)
  return loop.prefetch(iter(batches))


def _train(
  inputs: job_lib.Inputs,
  run_dir: str,
  run_loop: loop.Loop,
  batches: Iterator[dict[str, Any]],
  held_out: held_out_versions.HeldOutVersions | None,
) -> None:
  """Trains from one parameter version to the next, and publishes each.

  Versions are `refresh_every_steps` apart; the last step is always published.
  """
  root = layout.params_root(run_dir)
  every = inputs.config.pretraining.refresh_every_steps
  # A resumed run has versions; one more would make the index fresher.
  if versions.newest(root) is None:
    run_loop.publish()
  for _ in run_loop.periods(every, batches):
    run_loop.publish()
    versions.prune(root, _KEPT_VERSIONS, held_out.needed() if held_out else ())
    if held_out:
      held_out.measure_new()
    write_examples(
      run_loop.trainer, inputs.table, inputs.tokenizer, run_dir=run_dir
    )
  if held_out:
    held_out.wait_for(run_loop.step)
  run_loop.save()
  if held_out:
    held_out.publish_best(inputs)
  run_loop.finish()


def write_examples(
  trainer: pretraining_trainer.PretrainingTrainer,
  table: block_table.BlockTable,
  tokenizer: wordpiece.WordpieceTokenizer,
  *,
  run_dir: str,
) -> None:
  """Writes examples.jsonl: sentences with their candidates, as in Table 3.

  They are the last batch's first queries, scored now.
  """
  last: Any = trainer.last_batch
  batch = {name: each[:_NUM_EXAMPLES] for name, each in last.items()}
  tensors = {name: tf.constant(each) for name, each in batch.items()}
  scores, token_log_probs = trainer.score(tensors)
  log_p_y = objectives.query_log_likelihood(
    token_log_probs, tensors['token_mask']
  )  # [B, K]
  numbers = np.stack(
    [tf.nn.softmax(scores), tf.exp(log_p_y), objectives.block_utility(log_p_y)],
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
  is_gold = row['token_mask'] > 0
  positions = row['masked_positions'][is_gold]
  ids[positions] = row['gold_ids'][is_gold]
  text, places = '', []
  for piece in ids[ids != tokenizer.pad_id]:
    # Single pieces, for their characters; '##' continues the last piece's word.
    longer = tokenizer.detokenize([piece])
    is_glued = bool(tokenizer.continuation(piece)) or not text
    start = len(text) + (not is_glued)
    text += longer.removeprefix('##') if is_glued else f' {longer}'
    places.append((start, len(text)))
  ends = np.flatnonzero(np.diff(positions) != 1) + 1
  runs = [run for run in np.split(positions, ends) if run.size]
  return text, [(places[run[0]][0], places[run[-1]][1]) for run in runs]


def _candidates(
  ids: np.ndarray, numbers: np.ndarray, table: block_table.BlockTable
) -> list[examples_lib.Candidate]:
  """Returns one query's candidates, the most probable first.

  `numbers` are p(z|x), p(y|z,x) and utility, float32 [K, 3].
  """
  # Without a null block (in the reader's warm-up) there is no utility.
  has_null = ids[objectives.NULL_POSITION] == interfaces.NULL_BLOCK
  (real,) = np.nonzero(candidates.is_real(ids[None])[0])
  found = []
  for k in real[np.argsort(-numbers[real, 0], kind='stable')]:
    block, title, text = None, '', ''
    if ids[k] != interfaces.NULL_BLOCK:
      block = int(ids[k])
      (title,), (text,) = table.titles([block]), table.texts([block])
    p_z, p_y, utility = (float(f'{x:.{_DIGITS}g}') for x in numbers[k])
    found.append(
      examples_lib.Candidate(
        block, title, text, p_z, p_y, utility if has_null else None
      )
    )
  return found
