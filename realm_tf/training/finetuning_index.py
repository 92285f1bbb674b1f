"""Builds and loads the index versions of a fine-tuning run.

With a frozen Embed_doc (Guu et al. 2020, Section 3.3) one index suffices. Else
the run builds an index every `refresh_every_steps` and at the end. It does so
between two steps, so that runs are reproducible.
"""

from collections.abc import Iterator
from typing import Optional

from realm_tf import errors
from realm_tf.index import index_builder
from realm_tf.index import model_files
from realm_tf.index import storage
from realm_tf.model import realm_model
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.training import loop
from realm_tf.training import runs

_KEPT_VERSIONS = 2


class FinetuningIndex:
  """Builds and loads index versions; at first, of the first parameters.

  Must be created before a checkpoint is read.

  Args:
    init_from: Model directory; the first build reuses embeddings of its index.
  """

  def __init__(
    self,
    inputs: runs.Inputs,
    model: realm_model.RealmModel,
    run_dir: str,
    *,
    init_from: Optional[str] = None,
  ):
    self._config = inputs.config.finetuning
    self._builder = index_builder.IndexBuilder(
      inputs.table,
      inputs.config,
      inputs.special_ids,
      inputs.tokenizer.mask_id,
      model,
    )
    self._root = layout.index_root(run_dir)
    base = init_from and model_files.open_model(init_from).newest_index
    self._base = base.path if base else None
    self.build(0)

  def build(self, step: int) -> None:
    """Builds version `step` with the current parameters."""
    self._builder.build(step, self._root, base=self._base, fits=False)
    self._base = None
    storage.prune(self._root, _KEPT_VERSIONS)

  def at(self, step: int) -> storage.Index:
    """Returns the index for batches of `step`; UserError if it is missing."""
    every = self._config.refresh_every_steps
    built_at = step // every * every if every else 0
    if built_at == step:
      self.build(step)
    path = versions.version_path(self._root, built_at)
    if not versions.is_complete(path):
      raise errors.UserError(
        f'Training from step {step} must have the index of step {built_at}. '
        f'Found none in {self._root}. Start again in another directory.'
      )
    return storage.load(path, self._builder.corpus_fingerprint)

  def each(self, run_loop: loop.Loop) -> Iterator[tuple[storage.Index, int]]:
    """Yields each index of a run, and the step up to which it serves."""
    last = run_loop.num_steps
    every = self._config.refresh_every_steps or last
    while True:
      step = run_loop.step
      yield self.at(min(step, last - 1)), min(last, (step // every + 1) * every)
      if run_loop.step >= last:
        return

  def finish(self, step: int) -> None:
    """Builds the last index, unless Embed_doc is frozen."""
    if not self._config.freeze_block_tower:
      self.build(step)
