"""Makes pre-training queries on Apache Beam, on many machines."""

from collections.abc import Iterator
from typing import NamedTuple, Optional

import apache_beam as beam

from realm_tf.beam import reading as reading_lib
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import columns
from realm_tf.data import query_building
from realm_tf.data import query_table
from realm_tf.run import layout
from realm_tf.text import wordpiece
from realm_tf.training import taggers


class Tagging(NamedTuple):
  """Arguments of each worker; every worker must be able to read the paths.

  Attributes:
    corpus_dir: Corpus of the own blocks.
    tagger: Name for `taggers.make`; None keeps sentences without a span.
  """

  corpus_dir: str
  tagger: Optional[str]


def build(
  reading: reading_lib.Reading, tagging: Tagging, counts: counts_lib.Counts
) -> Iterator[query_table.Query]:
  """Tags on a Beam runner; yields `query_building.queries_from_articles`.

  `counts` receives the counts of all workers.
  """
  work = _Tag(tagging, reading)
  with reading_lib.run(reading, sources.in_batches, work, counts) as paths:
    for path in paths:
      batch = query_table.EncodedQueries(**columns.read_file(path))
      yield from map(batch.query, range(len(batch.own_blocks)))


class _Tag(beam.DoFn):
  """Makes the queries of a batch of articles and writes its file."""

  def __init__(self, tagging: Tagging, reading: reading_lib.Reading):
    self._tagging, self._reading = tagging, reading

  def setup(self) -> None:
    given = self._tagging
    self._tokenizer = wordpiece.WordpieceTokenizer.from_file(
      layout.vocab_file(given.corpus_dir)
    )
    self._table = block_table.BlockTable.open(given.corpus_dir)
    # Every worker counts the same terms, and only a part of a large corpus.
    self._tagger = None
    if given.tagger:
      self._tagger = taggers.make(
        given.tagger, find_terms=lambda: taggers.terms_of(self._table)
      )

  def process(self, element: tuple[str, list[sources.Article]]) -> None:
    name, articles = element
    counts = counts_lib.Counts()
    queries = query_building.queries_from_articles(
      articles, self._tokenizer, self._tagger, self._table, counts
    )
    columns.write_file(
      query_table.encode(list(queries))._asdict(),
      self._reading.batch_path(name),
    )
    self._reading.report(f'of-{name}', counts)
