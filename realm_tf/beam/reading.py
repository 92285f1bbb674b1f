"""Gives articles in batches to workers of Apache Beam.

  files -> count -> [workers: read, batch] -> [workers: work] -> batch files

Workers also report counts and a user's mistake in files.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
import contextlib
import json
import os
from typing import NamedTuple

from absl import logging
import apache_beam as beam
from apache_beam.options import pipeline_options
import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import article_records
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources

_BATCH, _REPORT = 'batch-', 'report-'

_Batches = Callable[[Iterable[sources.Article]], Iterator[list]]


class Reading(NamedTuple):
  """Articles to read with Beam.

  Attributes:
    inputs: Files, directories, globs, datasets; every worker must be able to
      read them.
    format: One of `sources.FORMATS`.
    drop_lists: Whether to leave out lists and similar articles.
    skip_errors: Whether to skip unreadable records.
    work_dir: New temporary directory, writable from every worker.
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
      found = counts.kept, counts.left_out, counts.spans, counts.examples
      file.write(json.dumps([*found, mistake]))


@contextlib.contextmanager
def run(
  reading: Reading,
  batches: _Batches,
  work: beam.DoFn,
  counts: counts_lib.Counts,
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
    with pipeline(reading.options) as root:
      files = root | beam.Create(items) | 'SpreadFiles' >> beam.Reshuffle()
      # An article without an id gets its number in the whole input.
      numbers = beam.pvalue.AsDict(files | beam.Map(_count, reading))
      _ = (
        files
        | beam.FlatMap(_read, numbers, reading, batches)
        | 'SpreadBatches' >> beam.Reshuffle()
        | beam.ParDo(work)
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
) -> Iterator[tuple[str, list]]:
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
      kept, left_out, spans, examples, mistake = json.loads(file.read())
    if mistake:
      raise errors.UserError(mistake)
    counts.kept.update(kept)
    counts.left_out.update(left_out)
    counts.spans.update(spans)
    for kind, texts in examples.items():
      counts.add_examples(kind, texts)


def _paths(work_dir: str, prefix: str) -> list[str]:
  return sorted(
    os.path.join(work_dir, name)
    for name in tf.io.gfile.listdir(work_dir)
    if name.startswith(prefix) and not name.endswith('.part')
  )


@contextlib.contextmanager
def pipeline(options: Sequence[str]) -> Iterator[beam.Pipeline]:
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
