"""Finds the candidates of a batch with the newest index of a run directory.

The index's own parameters embed the queries, so that query and block embeddings
fit each other.
"""

from collections.abc import Callable
import concurrent.futures
import itertools
import time
from typing import NamedTuple, Optional

import numpy as np

from realm_tf import errors
from realm_tf.data import sampling
from realm_tf.index import embedding
from realm_tf.index import model_files
from realm_tf.index import searcher
from realm_tf.index import storage
from realm_tf.model import realm_model
from realm_tf.retrieval import hot_swap
from realm_tf.retrieval import retriever
from realm_tf.retrieval import retrievers
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.training import job


def pinned_step(step: int, every: int) -> int:
  """Returns the step of the index that `step` searches with `pin_index`.

  The refresher embeds with the parameters of a refresh period's start during
  that period of `every` steps, and the trainer searches the result in the next
  period. So the trainer seldom waits.
  """
  return max(0, step // every - 1) * every


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
    """Waits until the pinned index of `step` is loaded."""
    self._wanted = pinned_step(step, self._every)

    def wait() -> None:
      self._check_not_removed(step)
      self._wait()

    self._swap.wait_for(lambda: self.step == self._wanted, wait)

  def retrieve(self, queries: retriever.Queries, k: int) -> searcher.Neighbors:
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
