"""Searches the newest index of a run while the refresher writes the next."""

from collections.abc import Callable
import concurrent.futures

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.data import sampling
from realm_tf.retrieval import device_retriever
from realm_tf.retrieval import hot_swap
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.training import job


class IndexSearch(retriever_lib.Starting):
  """Searches the newest index with that index's own parameters.

  So query and block embeddings fit each other.

  One of two slots is in use while the next version loads into the other. They
  are swapped between two batches, at no cost.

  Where a strategy has devices, they embed the queries, and search if the index
  fits: `begin` must then be called between two steps, in their thread. A CPU
  alone embeds and searches in the thread that waits for the hits.

  Args:
    strategy: Strategy of the step.
    submit: Runs a load in the background; by default in a thread.
    wait: Called again and again until the needed index is complete.
    share: Number of this process, and the first step; a step searches once.
  """

  def __init__(
    self,
    inputs: job.Inputs,
    run_dir: str,
    *,
    strategy: tf.distribute.Strategy,
    submit: hot_swap.Submit | None = None,
    wait: Callable[[], None],
    share: sampling.Share,
  ):
    config = inputs.config.pretraining
    self._fingerprint = inputs.table.manifest['corpus_fingerprint']
    submit = submit or concurrent.futures.ThreadPoolExecutor(1, 'index').submit
    self._wait = wait
    self.uses_devices = device_retriever.is_used(strategy)
    make = lambda: device_retriever.DeviceRetriever(
      strategy if self.uses_devices else tf.distribute.get_strategy(),
      inputs.config,
      inputs.tokenizer.special_ids,
      inputs.table.num_blocks if self.uses_devices else 0,
    )
    self._slots = [make()]
    if self.uses_devices:
      self._slots.append(make())
    else:
      # Must precede any load. Built in its own thread, this model draws no
      # seeds from the main thread's generator.
      submit(lambda: self._slots.append(make()))
    self._shapes: dict[tuple[int, ...], int] = {}  # Of queries -> k.
    self._pinned = config.pin_index
    self._every = config.refresh_every_steps
    self._wanted, self._next_step = 0, share.first_step
    self._root = layout.index_root(run_dir)
    self._swap: hot_swap.HotSwap[
      versions.Version, device_retriever.DeviceRetriever
    ] = hot_swap.HotSwap(
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
      newest = versions.newest(self._root, self._wanted)
      if newest is not None and self._find_wanted() is None:
        raise errors.UserError(
          f'With pin_index, step {step} needs the index of step {self._wanted}.'
          f' Found step {newest.step} as the newest in {self._root}. Build it '
          'again with bin.build_index, or resume without pin_index.'
        )
      self._pause()

    self._swap.wait_for(lambda: self.step == self._wanted, wait)

  def begin(self, queries: interfaces.Queries, k: int) -> retriever_lib.Find:
    """Starts the search of a step; the returned function ends it."""
    shape = queries.ids.shape
    if self.uses_devices and shape not in self._shapes:
      for slot in self._slots:  # Compiled before the first step of the shape.
        slot.begin(_no_words(shape), k)
    self._shapes[shape] = k
    if self._pinned:
      self._seek(self._next_step)
      self._next_step += 1
    elif self._swap.version is None:
      self._swap.wait_for(lambda: self.step >= 0, self._pause)
    else:
      self._swap.poll()
    return self._swap.current.begin(queries, k)

  def _pause(self) -> None:
    logging.log_every_n_seconds(
      logging.INFO,
      'Waiting for an index in %s; bin.refresh_index of this run builds it.',
      60,
      self._root,
    )
    self._wait()

  def _find_wanted(self) -> versions.Version | None:
    """Returns the pinned version once it is complete, else None."""
    path = versions.version_path(self._root, self._wanted)
    if not versions.is_complete(path):
      return None
    return versions.Version(self._wanted, path)

  def _load(
    self, version: versions.Version
  ) -> device_retriever.DeviceRetriever:
    """Runs in the background."""
    is_first = self._swap.version is None
    slot = self._slots[0 if is_first else self._swap.current is self._slots[0]]
    try:
      slot.load(version.path, self._fingerprint)
      if not self.uses_devices:
        # Tracing holds Python's lock, so both trace before the first step.
        for shape, k in dict(self._shapes).items():
          if is_first:
            self._slots[1].begin(_no_words(shape), k)
          slot.retrieve(_no_words(shape), k)
    except Exception:
      # A version that is removed while it loads causes many kinds of errors;
      # for all of them, `verify` raises the error that `HotSwap` expects.
      versions.verify(version.path)
      raise
    return slot


def _no_words(shape: tuple[int, ...]) -> interfaces.Queries:
  return interfaces.Queries(np.zeros(shape, np.int32), list)
