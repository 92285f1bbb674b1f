"""Batches of pre-training: masked queries with their K candidate blocks.

Masking and retrieval run on the host, ahead of the step. A batch has:

  query_ids: Wordpieces, int32 [B, Lx].
  masked_positions: int32 [B, M].
  gold_ids: Masked wordpieces, int32 [B, M].
  token_mask: 1.0, padding has 0.0, float32 [B, M].
  candidate_ids: Block ids, int32 [B, K].
  is_real: False for padding, bool [B, K].
  title_ids, body_ids: Wordpieces, int32 [B, K, Lt] and [B, K, Lz].
  cloze_ids: Sentences of the candidates, int32 [B, K - 1, Lx], only with
    `inverse_cloze_weight`.
  index_age_steps: Age of the searched index, an int that stays on the host.
"""

from collections.abc import Callable, Iterator, Mapping
import concurrent.futures
import dataclasses
import itertools
import time
from typing import Any, NamedTuple, Optional

import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import interfaces
from realm_tf.data import block_table
from realm_tf.data import cloze_sentences
from realm_tf.data import held_out
from realm_tf.data import masking
from realm_tf.data import query_table
from realm_tf.data import sampling
from realm_tf.index import embedding
from realm_tf.index import model_files
from realm_tf.index import storage
from realm_tf.model import realm_model
from realm_tf.retrieval import candidates
from realm_tf.retrieval import hot_swap
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.retrieval import retrievers
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.text import wordpiece
from realm_tf.training import job

# Batches are trimmed to multiples of these: each shape is traced.
_QUERY_WIDTH, _BODY_WIDTH, _SENTENCE_WIDTH = 48, 16, 64
_SENTENCES = 1  # Random stream 1 of a step; stream 0 draws the masks.
_LOOKED_THROUGH = 20  # Hits that may hold a recurring span.
_OWN, _CANDIDATES = 'own_block', 'candidate_ids'  # Fields of a batch.


def batches(
  queries: query_table.QueryTable,
  table: block_table.BlockTable,
  retriever: interfaces.Retriever,
  *,
  tokenizer: wordpiece.WordpieceTokenizer,
  experiment: config_lib.ExperimentConfig,
  share: sampling.Share = sampling.WHOLE,
  index_step: Optional[Callable[[], int]] = None,
) -> Iterator[dict[str, Any]]:
  """Yields endless batches; calls `retriever` once a step.

  `index_step` returns the step of the index that it searched last.
  """
  config = experiment.pretraining
  how = masking.of_config(experiment, tokenizer.mask_id)
  depth = config.num_candidates + candidates.SPARE_HITS
  if config.candidates == 'recurring_span':
    depth = _LOOKED_THROUGH

  def find(batch: Mapping[str, np.ndarray]) -> np.ndarray:
    queries = retriever_lib.masked(batch['query_ids'], tokenizer)
    hits = retriever.retrieve(queries, depth).block_ids
    return choose(hits, batch, table, experiment=experiment)

  size, num_dealt = config.batch_size, config.batch_size * config.oversampling
  is_held_out = held_out.queries(queries, table, experiment.held_out.share)
  rows = held_out.others(is_held_out)
  sampler = sampling.Sampler(len(rows), num_dealt, experiment.seed)
  for step in itertools.count(share.first_step):
    rng = sampling.step_rng(experiment.seed, step)
    batch = masking.mask_batch(queries, rows[sampler.rows(step)], how, rng)
    batch['query_ids'] = share.trim(batch['query_ids'], _QUERY_WIDTH)
    if config.oversampling > 1:
      batch[_CANDIDATES] = find(batch)
      # Preferably queries with a candidate that holds the span.
      has_span = _has_span(batch[_CANDIDATES], batch, table, experiment)
      used = np.argsort(~has_span.any(axis=1), kind='stable')[:size]
      batch = {name: field[used] for name, field in batch.items()}
      batch['query_ids'] = share.trim(batch['query_ids'], _QUERY_WIDTH)
    batch = share.take(batch)
    if config.oversampling == 1:
      batch[_CANDIDATES] = find(batch)
    del batch[_OWN]
    blocks = with_blocks(
      batch[_CANDIDATES], table, experiment.lengths, share=share
    )
    # A resumed trainer may be at an earlier step than the index.
    age = {'index_age_steps': max(0, step - index_step())} if index_step else {}
    yield {**batch, **blocks, **age}


def choose(
  hits: np.ndarray,
  batch: Mapping[str, np.ndarray],
  table: block_table.BlockTable,
  *,
  experiment: config_lib.ExperimentConfig,
) -> np.ndarray:
  """Returns the ids of the K candidates of each query, int32 [B, K].

  Args:
    hits: Block ids, best first, int [B, N].
    batch: Masked queries from `masking.mask_batch`.
  """
  own, k = batch[_OWN], experiment.pretraining.num_candidates
  if experiment.pretraining.candidates != 'recurring_span':
    return candidates.select(hits, own, k)
  has_span = _has_span(hits, batch, table, experiment)
  hits = np.take_along_axis(
    hits, np.argsort(~has_span, axis=1, kind='stable'), axis=1
  )
  return candidates.select(hits, own, k + 1)[:, 1:]  # No null block.


def _has_span(
  ids: np.ndarray,
  batch: Mapping[str, np.ndarray],
  table: block_table.BlockTable,
  experiment: config_lib.ExperimentConfig,
) -> np.ndarray:
  """Returns whether blocks hold the query's masked wordpieces, bool [B, N]."""
  _, bodies = table.gather(ids, 1, experiment.lengths.block_tokens)
  return candidates.have_span(
    bodies, batch['gold_ids'], batch['masked_positions']
  )


def with_blocks(
  chosen: np.ndarray,
  table: block_table.BlockTable,
  lengths: config_lib.LengthConfig,
  *,
  share: sampling.Share = sampling.WHOLE,
) -> dict[str, np.ndarray]:
  """Returns the batch's fields with a K axis."""
  titles, bodies = table.gather(
    chosen, lengths.title_tokens, lengths.block_tokens
  )
  return {
    'title_ids': titles,
    'body_ids': share.trim(bodies, _BODY_WIDTH),
    'is_real': candidates.is_real(chosen),
    _CANDIDATES: chosen,
  }


def with_sentences(
  batches: Iterator[dict[str, Any]],
  table: block_table.BlockTable,
  ordinary_ids: np.ndarray,
  *,
  experiment: config_lib.ExperimentConfig,
  share: sampling.Share = sampling.WHOLE,
) -> Iterator[dict[str, Any]]:
  """Adds 'cloze_ids', int32 [b, K - 1, Lx], to batches of pre-training.

  ICT on the candidates: a sentence must find its candidate. Pre-training embeds
  the candidates anyway, so only embedding the sentences costs time. The
  candidates of one query are hard negatives of each other. A sentence stays in
  its block; `experiment.inverse_cloze` sets dropped words and noise (from
  `ordinary_ids`). Padding and held-out articles get zeros.
  """
  config = dataclasses.replace(
    experiment.inverse_cloze,
    remove_rate=0.0,
    query_tokens=experiment.lengths.query_tokens,
  )
  is_held_out = held_out.blocks(table, experiment.held_out.share)
  size = experiment.pretraining.batch_size
  for step, batch in enumerate(batches, share.first_step):
    ids = batch['candidate_ids'][:, 1:]
    rng = sampling.step_rng(experiment.seed, step, _SENTENCES)
    own, number = share.rows(size * ids.shape[1]), size * ids.shape[1]
    rows = np.maximum(ids.ravel(), 0)
    _, _, queries = cloze_sentences.take(
      table, rows, rng.random([number, 2])[own], config, experiment.lengths
    )
    queries[(ids.ravel() < 0) | is_held_out[rows]] = 0
    queries = cloze_sentences.change(
      queries, ordinary_ids, config, rng, own=own, size=number
    )
    queries = share.trim(queries, _SENTENCE_WIDTH).reshape([*ids.shape, -1])
    yield {**batch, 'cloze_ids': queries}


class _Slot:
  """A query embedder that holds one index version's parameters at a time."""

  def __init__(self, inputs: job.Inputs):
    self.model = realm_model.RealmModel(
      inputs.config.model, [realm_model.EMBEDDER]
    )
    self.embed = embedding.compile_queries(
      self.model, inputs.config.lengths.query_tokens, inputs.special_ids
    )


class _Loaded(NamedTuple):
  slot: _Slot
  layer: retrievers.RetrievalLayer


class IndexSearch:
  """Searches the newest index with that index's own parameters.

  So query and block embeddings fit each other.

  One of two slots is in use while the next version's parameters load into the
  other. Slot and searcher are swapped together between two batches, at no cost.

  Args:
    submit: Runs a load in the background; by default in a thread.
    wait: Called again and again until the needed index is complete.
    share: Number of this process, and the first step; a step searches once.
  """

  def __init__(
    self,
    inputs: job.Inputs,
    run_dir: str,
    *,
    submit: Optional[hot_swap.Submit] = None,
    wait: Callable[[], None] = lambda: time.sleep(0.2),
    share: sampling.Share = sampling.WHOLE,
  ):
    config = inputs.config.pretraining
    self._fingerprint = inputs.table.manifest['corpus_fingerprint']
    submit = submit or concurrent.futures.ThreadPoolExecutor(1, 'index').submit
    self._wait = wait
    self._slots = [_Slot(inputs)]
    # Must precede any load. Built in its own thread, this model draws no seeds
    # from the main thread's generator.
    submit(lambda: self._slots.append(_Slot(inputs)))
    self._shapes: dict[tuple[int, ...], int] = {}  # Queries' shape -> k.
    self._pinned = config.pin_index
    self._every = config.refresh_every_steps
    self._wanted, self._next_step = 0, share.first_step
    self._root = layout.index_root(run_dir)
    self._swap: hot_swap.HotSwap[versions.Version, _Loaded] = hot_swap.HotSwap(
      self._find_wanted
      if self._pinned
      else lambda: versions.newest(self._root, self.step),
      self._load,
      submit=submit,
      declare=lambda found: versions.declare_in_use(
        run_dir, share.number, [version.step for version in found]
      ),
    )

  @property
  def step(self) -> int:
    """Training step of the last searched index; -1 without a search."""
    return -1 if self._swap.version is None else self._swap.version.step

  def _seek(self, step: int) -> None:
    """Waits until the pinned index of `step` is loaded.

    The refresher embeds with the parameters of a refresh period's start during
    that period, and the trainer searches the result in the next period. So the
    trainer seldom waits.
    """
    self._wanted = max(0, step // self._every - 1) * self._every

    def wait() -> None:
      self._check_not_removed(step)
      self._wait()

    self._swap.wait_for(lambda: self.step == self._wanted, wait)

  def retrieve(
    self, queries: interfaces.Queries, k: int
  ) -> interfaces.Neighbors:
    self._shapes[queries.ids.shape] = k
    if self._pinned:
      self._seek(self._next_step)
      self._next_step += 1
    elif self._swap.version is None:
      self._swap.wait_for(lambda: self.step >= 0, self._wait)
    else:
      self._swap.poll()
    return self._swap.current.layer.retrieve(queries, k)

  def _check_not_removed(self, step: int) -> None:
    """Raises UserError if the pinned index will never come."""
    newest = versions.newest(self._root, self._wanted)
    if newest is None or versions.is_complete(
      versions.version_path(self._root, self._wanted)
    ):
      return
    raise errors.UserError(
      f'With pin_index, step {step} needs the index of step {self._wanted}. '
      f'Found step {newest.step} as the newest in {self._root}. Build it '
      'again with bin.build_index, or resume without pin_index.'
    )

  def _find_wanted(self) -> Optional[versions.Version]:
    """Returns the pinned version once it is complete, else None."""
    path = versions.version_path(self._root, self._wanted)
    is_there = versions.is_complete(path)
    return versions.Version(self._wanted, path) if is_there else None

  def _load(self, version: versions.Version) -> _Loaded:
    """Runs in the background."""
    try:
      index = storage.load(version.path, self._fingerprint, own_process=True)
      slot = self._idle_slot()
      model_files.load_version(slot.model, version.path)
      self._warm(slot, index)
    except Exception:
      # A version that is removed while it loads causes many kinds of errors;
      # for all of them, `verify` raises the error that `HotSwap` expects.
      versions.verify(version.path)
      raise
    layer = retrievers.RetrievalLayer(slot.embed, index.searcher)
    return _Loaded(slot, layer)

  def _idle_slot(self) -> _Slot:
    if self._swap.version is None:
      return self._slots[0]
    return self._slots[self._swap.current.slot is self._slots[0]]

  def _warm(self, slot: _Slot, index: storage.Index) -> None:
    """Traces and searches once, to save the first batch this time."""
    shapes = dict(self._shapes)  # A copy: the other thread may add shapes.
    # Tracing holds Python's lock, so both slots trace before the first step.
    slots = self._slots if self._swap.version is None else [slot]
    for (shape, k), each in itertools.product(shapes.items(), slots):
      queries = each.embed(np.zeros(shape, np.int32))
      if each is slot:
        index.searcher.search(queries, k)
