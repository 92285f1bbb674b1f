"""Cuts articles, tags sentences and embeds blocks on Apache Beam.

  files -> count -> [workers: read, batch] -> [workers: work] -> batch files
  shard numbers -> [workers: embed] -> index version

Every worker must be able to read and write the paths. Workers also report
counts and a user's mistake in files.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
import contextlib
import json
import os
from typing import Any, NamedTuple, Optional

from absl import logging
import apache_beam as beam
from apache_beam.options import pipeline_options
import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import article_records
from realm_tf.corpus import blocks
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import columns
from realm_tf.data import corpus_files
from realm_tf.data import query_table
from realm_tf.index import index_builder
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.text import wordpiece
from realm_tf.training import taggers

_BATCH, _REPORT = 'batch-', 'report-'

_Batches = Callable[[Iterable[sources.Article]], Iterator[list]]
_Named = tuple[str, list[sources.Article]]  # 'file-batch', articles.
_Cutter = tuple[wordpiece.WordpieceTokenizer, int]


class Reading(NamedTuple):
  """Articles to read with Beam.

  Attributes:
    inputs: Files, directories, globs, datasets.
    format: One of `sources.FORMATS`.
    drop_lists: Whether to leave out lists and similar articles.
    skip_errors: Whether to skip unreadable records.
    work_dir: New temporary directory.
    options: Options of Beam, e.g. '--runner=DirectRunner'.
    first_number: Number of the first article, for ids of articles without one.
  """

  inputs: Sequence[str]
  format: str
  drop_lists: bool
  skip_errors: bool
  work_dir: str
  options: Sequence[str]
  first_number: int = 0
  keys: article_records.Keys = article_records.Keys()

  def batch_path(self, name: str) -> str:
    return os.path.join(self.work_dir, f'{_BATCH}{name}')

  def report(
    self, name: str, counts: counts_lib.Counts, mistake: str = ''
  ) -> None:
    """Writes the counts of one worker's task, and a mistake of the user."""
    path = os.path.join(self.work_dir, f'{_REPORT}{name}')
    with tf.io.gfile.GFile(path, 'w') as file:
      found = counts.kept, counts.left_out, counts.examples
      file.write(json.dumps([*found, mistake]))


def cut(
  reading: Reading, cutter: _Cutter, counts: counts_lib.Counts
) -> Iterator[block_table.EncodedBlocks]:
  """Yields the blocks of `corpus_files.cut`.

  Args:
    cutter: Arguments of `corpus_files.cutter`.
    counts: Receives the counts of all workers.
  """
  work = beam.Map(_cut, cutter, reading)
  with _run(reading, blocks.batches, work, counts) as paths:
    yield from with_different_ids(
      block_table.EncodedBlocks(**columns.read_file(path)) for path in paths
    )


def _cut(batch: _Named, cutter: _Cutter, reading: Reading) -> None:
  name, articles = batch
  encoded = corpus_files.cutter(*cutter)(articles)
  columns.write_file(encoded._asdict(), reading.batch_path(name))


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


def tag(
  reading: Reading,
  tagging: tuple[str, Optional[str]],
  counts: counts_lib.Counts,
) -> Iterator[query_table.Query]:
  """Yields the queries of `query_table.queries_from_articles`.

  Args:
    tagging: Corpus of the own blocks, and name for `taggers.make`; None keeps
      sentences without a span.
    counts: Receives the counts of all workers.
  """
  work = beam.ParDo(_Tag(tagging, reading))
  with _run(reading, sources.in_batches, work, counts) as paths:
    for path in paths:
      batch = query_table.EncodedQueries(**columns.read_file(path))
      yield from map(batch.query, range(len(batch.own_blocks)))


class _Tag(beam.DoFn):
  """Makes the queries of a batch of articles and writes its file."""

  def __init__(self, tagging: tuple[str, Optional[str]], reading: Reading):
    self._tagging, self._reading = tagging, reading

  def setup(self) -> None:
    corpus_dir, tagger = self._tagging
    self._tokenizer = wordpiece.WordpieceTokenizer.from_file(
      layout.vocab_file(corpus_dir)
    )
    self._table = block_table.BlockTable.open(corpus_dir)
    # Every worker counts the same terms, and only a part of a large corpus.
    find_terms = lambda: taggers.terms_of(self._table)
    self._tagger = taggers.make(tagger, 1, find_terms) if tagger else None

  def process(self, element: _Named) -> None:
    name, articles = element
    counts = counts_lib.Counts()
    queries = query_table.queries_from_articles(
      articles, self._tokenizer, self._tagger, self._table, counts
    )
    columns.write_file(
      query_table.encode(list(queries))._asdict(),
      self._reading.batch_path(name),
    )
    self._reading.report(f'of-{name}', counts)


def embed(
  model: tuple[str, str, Sequence[str]],
  version: versions.Version,
  num_shards: int,
  options: Sequence[str],
  base: Optional[str] = None,
) -> None:
  """Makes all shards of a version; `IndexBuilder.publish` completes it.

  UserError if Beam fails.

  Args:
    model: Arguments of `index_builder.open_builder`.
    version: A begun version of the model's parameters.
    options: Beam's, e.g. '--runner=DirectRunner'.
    base: Version with embeddings that must be reused.
  """
  with _pipeline(options) as pipeline:
    _ = (
      pipeline
      | beam.Create(range(num_shards))
      | beam.Reshuffle()
      | beam.ParDo(_Embed(model, version, base))
    )


class _Embed(beam.DoFn):
  """Makes a shard by its number; workers return nothing."""

  def __init__(self, model: Any, version: versions.Version, base: Any):
    self._model, self._arguments = model, (version, base)

  def setup(self) -> None:
    builder = index_builder.open_builder(*self._model)
    self._make = builder.shard_maker(*self._arguments)

  def process(self, element: int) -> None:
    self._make(element)


@contextlib.contextmanager
def _run(
  reading: Reading, batches: _Batches, work: Any, counts: counts_lib.Counts
) -> Iterator[list[str]]:
  """Yields the files that workers wrote about all articles, in order.

  UserError for a missing file or a bad record.

  Args:
    batches: Groups articles.
    work: Receives ('file-batch', articles) and writes `reading.batch_path`.
    counts: Receives the counts of all workers.
  """
  items = list(enumerate(sources.expand(reading.inputs, reading.format)))
  tf.io.gfile.makedirs(reading.work_dir)
  try:
    with _pipeline(reading.options) as root:
      files = root | beam.Create(items) | 'SpreadFiles' >> beam.Reshuffle()
      # An article without an id gets its number in the whole input.
      numbers = beam.pvalue.AsDict(files | beam.Map(_count, reading))
      _ = (
        files
        | beam.FlatMap(_read, numbers, reading, batches)
        | 'SpreadBatches' >> beam.Reshuffle()
        | 'Work' >> work
      )
    _gather(reading.work_dir, counts)
    yield _paths(reading.work_dir, _BATCH)
  finally:
    tf.io.gfile.rmtree(reading.work_dir)


def _count(item: tuple[int, str], reading: Reading) -> tuple[int, int]:
  """Returns (number of the file, its number of articles)."""
  number, path = item
  counts = counts_lib.Counts(reading.skip_errors)
  try:
    return number, sources.count(path, reading.format, reading.keys, counts)
  except errors.UserError:  # `_read` reports it.
    return number, 0


def _read(
  item: tuple[int, str],
  numbers: Mapping[int, int],
  reading: Reading,
  batches: _Batches,
) -> Iterator[_Named]:
  """Yields ('file-batch', articles) of a file, and reports on it."""
  number, path = item
  counts = counts_lib.Counts(reading.skip_errors)
  articles = sources.read_articles(
    [path],
    reading.format,
    reading.drop_lists,
    counts,
    reading.keys,
    reading.first_number
    + sum(count for other, count in numbers.items() if other < number),
  )
  mistake = ''
  try:
    for i, batch in enumerate(batches(articles)):
      yield f'{number:06d}-{i:08d}', batch
  except errors.UserError as error:  # A runner would hide it in a traceback.
    mistake = str(error)
  reading.report(f'{number:06d}', counts, mistake)


def _gather(work_dir: str, counts: counts_lib.Counts) -> None:
  """Adds the workers' counts; UserError for the first reported mistake."""
  for path in _paths(work_dir, _REPORT):
    with tf.io.gfile.GFile(path) as file:
      kept, left_out, examples, mistake = json.loads(file.read())
    if mistake:
      raise errors.UserError(mistake)
    counts.kept.update(kept)
    counts.left_out.update(left_out)
    for kind, texts in examples.items():
      counts.add_examples(kind, texts)


def _paths(work_dir: str, prefix: str) -> list[str]:
  return sorted(
    os.path.join(work_dir, name)
    for name in tf.io.gfile.listdir(work_dir)
    if name.startswith(prefix)
  )


@contextlib.contextmanager
def _pipeline(options: Sequence[str]) -> Iterator[beam.Pipeline]:
  """Yields a pipeline, and runs it at the end; UserError if Beam fails."""
  try:
    with beam.Pipeline(
      options=pipeline_options.PipelineOptions(list(options))
    ) as result:
      yield result
  except Exception as error:  # Beam, runners and services raise any kind.
    logging.info('Beam ended with:', exc_info=True)
    raise errors.UserError(
      f'Beam must run with {" ".join(options)}. Found {type(error).__name__}: '
      f'{str(error).strip()[:300]!r}. Check --runner and --beam_option.'
    ) from error
