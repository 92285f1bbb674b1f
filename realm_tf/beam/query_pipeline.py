"""Makes pre-training queries on Apache Beam, on many machines."""

from collections.abc import Iterator
import contextlib
from typing import Any, NamedTuple, Optional, cast

import apache_beam as beam
import tensorflow as tf

from realm_tf.beam import reading as reading_lib
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.corpus import terms as terms_lib
from realm_tf.data import block_table
from realm_tf.data import columns
from realm_tf.data import query_building
from realm_tf.data import query_table
from realm_tf.run import layout
from realm_tf.text import wordpiece
from realm_tf.training.tagger import taggers


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
  with _terms_file(tagging, f'{reading.work_dir}.terms') as terms_path:
    work = _Tag(tagging, reading, terms_path)
    with reading_lib.run(reading, sources.in_batches, work, counts) as paths:
      for path in paths:
        batch = query_table.EncodedQueries(**columns.read_file(path))
        yield from map(batch.query, range(len(batch.own_blocks)))


@contextlib.contextmanager
def _terms_file(tagging: Tagging, path: str) -> Iterator[str]:
  """Counts the corpus once; yields the file of its terms for all workers."""
  if not (tagging.tagger or '').endswith('terms'):
    yield ''
    return
  terms = taggers.terms_of(block_table.BlockTable.open(tagging.corpus_dir))
  by_name: dict[str, Any] = {'words': columns.Rows.of_texts(terms.words)}
  for name, arrays in terms._asdict().items():
    if name != 'words':
      by_name |= {f'{name}{i}': array for i, array in enumerate(arrays)}
  columns.write_file(by_name, path)
  try:
    yield path
  finally:
    tf.io.gfile.remove(path)


def _read_terms(path: str) -> terms_lib.Terms:
  by_name = dict(columns.read_file(path))
  words = cast(columns.Rows, by_name.pop('words')).texts()
  lists: dict[str, list] = {}
  for name, array in by_name.items():
    lists.setdefault(name[:-1], []).append(array)
  return terms_lib.Terms(words, **lists)


class _Tag(beam.DoFn):
  """Makes the queries of a batch of articles and writes its file."""

  def __init__(
    self, tagging: Tagging, reading: reading_lib.Reading, terms_path: str
  ):
    self._tagging, self._reading = tagging, reading
    self._terms_path = terms_path

  def setup(self) -> None:
    given = self._tagging
    self._tokenizer = wordpiece.WordpieceTokenizer.from_file(
      layout.vocab_file(given.corpus_dir)
    )
    self._table = block_table.BlockTable.open(given.corpus_dir)
    self._tagger = None
    if given.tagger:
      self._tagger = taggers.make(
        given.tagger, find_terms=lambda: _read_terms(self._terms_path)
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
