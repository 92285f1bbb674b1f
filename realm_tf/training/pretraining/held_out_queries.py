"""Measures pre-training on held-out queries."""

from collections.abc import Iterator

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf.config import names
from realm_tf.index import embedding
from realm_tf.index import storage
from realm_tf.objectives import marginal_likelihood
from realm_tf.objectives import retrieval_utility
from realm_tf.records import held_out
from realm_tf.records import masking
from realm_tf.records import query_table
from realm_tf.records import sampling
from realm_tf.retrieval import candidates
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.retrieval import retrievers
from realm_tf.training import runs
from realm_tf.training.pretraining import pretraining_batches
from realm_tf.training.pretraining import pretraining_trainer

# One shape for every batch, to trace once.
_FIXED = sampling.Share(has_fixed_shapes=True)


class HeldOutQueries:
  """A fixed set of masked queries, and metrics of the model on them."""

  def __init__(
    self,
    inputs: runs.Inputs,
    queries: query_table.QueryTable,
    rows: np.ndarray,
    *,
    trainer: pretraining_trainer.PretrainingTrainer,
  ):
    self._inputs, self._rows = inputs, rows
    config, lengths = inputs.config, inputs.config.lengths
    how = masking.of_config(config, inputs.tokenizer.mask_id)
    rng = sampling.step_rng(config.seed, 0)
    self._masked = masking.mask_batch(queries, rows, how, rng)
    self._score = tf.function(trainer.score)
    self._embed = embedding.compile_queries(
      trainer.model, lengths.query_tokens, inputs.special_ids
    )

  def index_layer(self, version_path: str) -> retrievers.RetrievalLayer:
    """Returns a search of an index with the model's current parameters.

    Loads the index again: training's own copy serves the prepared batches.
    """
    index = storage.load(
      version_path, self._inputs.table.manifest['corpus_fingerprint']
    )
    return retrievers.RetrievalLayer(self._embed, index.searcher)

  def measure(self, retriever: retriever_lib.Retriever) -> dict[str, float]:
    """Returns each metric's mean over the queries, by name."""
    parts = [self._measure(batch, retriever) for batch in self._batches()]
    number = len(self._rows)
    return {
      name: float(
        np.concatenate([part[name] for part in parts])[:number].mean()
      )
      for name in parts[0]
    }

  def _batches(self) -> Iterator[dict[str, np.ndarray]]:
    """Yields batches of one size; the first rows fill the last batch up."""
    size = self._inputs.config.pretraining.batch_size
    for start in range(0, len(self._rows), size):
      chosen = np.arange(start, start + size) % len(self._rows)
      yield {name: each[chosen] for name, each in self._masked.items()}

  def _measure(
    self, batch: dict[str, np.ndarray], retriever: retriever_lib.Retriever
  ) -> dict[str, np.ndarray]:
    """Returns each metric for the queries of a batch, [B]."""
    table, config = self._inputs.table, self._inputs.config
    number = max(config.pretraining.num_candidates, names.HELD_OUT_RANKS[-1])
    hits = retriever.retrieve(
      retriever_lib.masked(batch['query_ids'], self._inputs.tokenizer),
      number + candidates.SPARE_HITS,
    ).block_ids
    _, has_span = candidates.find_spans(
      hits, batch, table, names.HELD_OUT_RANKS[-1], config.lengths.block_tokens
    )
    chosen = pretraining_batches.choose(hits, batch, table, experiment=config)
    blocks = pretraining_batches.with_blocks(
      chosen, table, config.lengths, share=_FIXED
    )
    return {
      **self._read({**batch, **blocks}),
      **{
        f'held_out_recall@{rank}': has_span[:, :rank].any(axis=1)
        for rank in names.HELD_OUT_RANKS
      },
    }

  def _read(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the model's metrics on the candidates, [B] each."""
    del batch['own_block']
    tensors = {name: tf.constant(each) for name, each in batch.items()}
    scores, log_p = self._score(tensors)
    mask = tensors['token_mask']
    log_p_y = marginal_likelihood.marginal_log_likelihood(scores, log_p, mask)
    result = {'held_out_log_likelihood': log_p_y.numpy()}
    if self._inputs.config.pretraining.candidates == 'recurring_span':
      return result  # There is no null block.
    utility = retrieval_utility.marginal_utility(
      log_p_y, marginal_likelihood.query_log_likelihood(log_p, mask)
    )
    p_null = tf.nn.softmax(scores)[:, retrieval_utility.NULL_POSITION]
    return {
      **result,
      'held_out_utility': utility.numpy(),
      'held_out_p_null': p_null.numpy(),
    }


def choose(queries: query_table.QueryTable, inputs: runs.Inputs) -> np.ndarray:
  """Returns the held-out rows to measure, int64 [n], ascending."""
  config = inputs.config.held_out
  is_held_out = held_out.queries(queries, inputs.table, config.share)
  if config.share and not is_held_out.any():
    logging.info('No query is from a held-out article; nothing is measured.')
  return held_out.choose(is_held_out, config.num_queries, inputs.config.seed)
