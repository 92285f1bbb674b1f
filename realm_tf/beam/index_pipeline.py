"""Embeds the shards of an index version on Apache Beam, on many machines."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import apache_beam as beam

from realm_tf.beam import reading
from realm_tf.index import index_builder
from realm_tf.run import versions


class Embedding(NamedTuple):
  """Arguments of each worker; every worker must be able to read the paths.

  Attributes:
    overrides: Config overrides of `index_builder.open_builder`.
    version: A begun version of the model's parameters, writable by all.
    base: Version with embeddings that must be reused.
  """

  model_dir: str
  corpus_dir: str
  overrides: Sequence[str]
  version: versions.Version
  base: Optional[str] = None


def embed(
  embedding: Embedding, num_shards: int, options: Sequence[str]
) -> None:
  """Makes all shards of a version; `IndexBuilder.publish` completes it.

  `options` are Beam's, e.g. '--runner=DirectRunner'. UserError if Beam fails.
  """
  with reading.pipeline(options) as pipeline:
    _ = (
      pipeline
      | beam.Create(range(num_shards))
      | beam.Reshuffle()
      | beam.ParDo(_Embed(embedding))
    )


class _Embed(beam.DoFn):
  """Makes a shard by its number; workers return nothing."""

  def __init__(self, embedding: Embedding):
    self._embedding = embedding

  def setup(self) -> None:
    given = self._embedding
    builder = index_builder.open_builder(
      given.model_dir, given.corpus_dir, given.overrides
    )
    self._make = builder.shard_maker(given.version, given.base)

  def process(self, element: int) -> None:
    self._make(element)
