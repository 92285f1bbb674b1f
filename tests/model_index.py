"""Builds an index with a test's model."""

from realm_tf.data import block_table
from realm_tf.index import index_builder
from realm_tf.model import realm_model
from realm_tf.training import job


def build(
  inputs: job.Inputs,
  model: realm_model.RealmModel,
  corpus_dir: str,
  root: str,
  step: int = 0,
) -> None:
  """Builds version `step` of the index in the directory `root`."""
  index_builder.IndexBuilder(
    block_table.BlockTable.open(corpus_dir),
    inputs.config,
    inputs.special_ids,
    inputs.tokenizer.mask_id,
    model,
  ).build(step, root)
