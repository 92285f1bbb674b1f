"""Cuts articles into blocks on Apache Beam, on many machines."""

from collections.abc import Iterable, Iterator

import apache_beam as beam

from realm_tf import errors
from realm_tf.beam import reading as reading_lib
from realm_tf.corpus import blocks
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import columns
from realm_tf.data import corpus_files
from realm_tf.text import wordpiece


def build(
  reading: reading_lib.Reading,
  cutter: tuple[wordpiece.WordpieceTokenizer, int],
  counts: counts_lib.Counts,
) -> Iterator[block_table.EncodedBlocks]:
  """Cuts on a Beam runner, with the result of `corpus_building.cut`.

  Args:
    cutter: Arguments of `corpus_building.Cutter`.
    counts: Receives the counts of all workers.
  """
  work = _Cut(cutter, reading)
  with reading_lib.run(reading, blocks.batches, work, counts) as paths:
    yield from with_different_ids(
      block_table.EncodedBlocks(**columns.read_file(path)) for path in paths
    )


def with_different_ids(
  batches: Iterable[block_table.EncodedBlocks],
) -> Iterator[block_table.EncodedBlocks]:
  """Yields the batches; UserError if articles of two files share an id.

  A worker sees only the ids of its own file.
  """
  seen: set[int] = set()  # Hashes take little memory.
  for batch in batches:
    for name, title in batch.articles():
      if hash(name) in seen:
        raise errors.UserError(
          f'Articles must have different ids. Found {name!r:.40} of '
          f'{title!r:.60} in another file, too. --runner=local shows where.'
        )
      seen.add(hash(name))
    yield batch


class _Cut(beam.DoFn):
  """Cuts a batch of articles and writes its file."""

  def __init__(
    self,
    cutter: tuple[wordpiece.WordpieceTokenizer, int],
    reading: reading_lib.Reading,
  ):
    self._arguments, self._reading = cutter, reading

  def setup(self) -> None:
    self._cut = corpus_files.cutter(*self._arguments)

  def process(self, element: tuple[str, list[sources.Article]]) -> None:
    name, articles = element
    path = self._reading.batch_path(name)
    columns.write_file(self._cut(articles)._asdict(), path)
