"""Embeds the shards of an index version on Apache Beam, on many machines."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import apache_beam as beam

from realm_tf.index import index_builder
from realm_tf.pipelines import running
from realm_tf.rundir import versions


class Embedding(NamedTuple):
  """Files that every worker must be able to read, by the same paths.

  Attributes:
    model_dir: Model directory, whose parameters `version` names.
    corpus_dir: Corpus directory.
    overrides: Arguments of `index_builder.open_builder`.
    version: A begun version, writable from every worker.
    base: Version whose embeddings must be reused.
  """

  model_dir: str
  corpus_dir: str
  overrides: Sequence[str]
  version: versions.Version
  base: Optional[str] = None


def embed(
  embedding: Embedding, num_shards: int, options: Sequence[str]
) -> None:
  """Makes all shards; `IndexBuilder.publish` then completes the version.

  Args:
    embedding: What to embed.
    num_shards: Shards of the version.
    options: Options of Beam, e.g. '--runner=DirectRunner'.

  Raises:
    UserError: Beam failed.
  """
  with running.pipeline(options) as pipeline:
    _ = (
      pipeline
      | beam.Create(range(num_shards))
      | beam.Reshuffle()
      | beam.ParDo(_Embed(embedding))
    )


class _Embed(beam.DoFn):
  """Makes the shard of a number; its files are all its result."""

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
