"""Works on articles on Apache Beam, batch by batch.

  files -> count -> [workers: read, batch] -> [workers: work] -> batch files

What workers count, and the first mistake that one finds, goes through files.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
import contextlib
import json
import os
from typing import NamedTuple

import apache_beam as beam
import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import article_records
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.pipelines import running

_BATCH, _COUNTS, _ERROR = 'batch-', 'counts-', 'error-'

_Batches = Callable[[Iterable[sources.Article]], Iterator[list]]


class Reading(NamedTuple):
  """Arguments of `sources.read_articles`.

  Attributes:
    inputs: Files, directories, globs, datasets; every worker must be able to
      read them.
    format: One of `sources.FORMATS`.
    drop_lists: Whether to leave out lists and the like.
    skip_errors: Whether to skip unreadable records.
    first_number: Number of the first article.
    keys: Keys of records.
  """

  inputs: Sequence[str]
  format: str
  drop_lists: bool
  skip_errors: bool
  first_number: int = 0
  keys: article_records.Keys = article_records.Keys()


@contextlib.contextmanager
def run(
  reading: Reading,
  batches: _Batches,
  work: beam.DoFn,
  work_dir: str,
  options: Sequence[str],
  counts: counts_lib.Counts,
) -> Iterator[list[str]]:
  """Gives all articles to workers, and yields the files that they wrote.

  Args:
    reading: Input.
    batches: Groups articles.
    work: Gets ('file-batch', articles), and writes a file to `batch_path`.
    work_dir: New directory for what workers write, writable from each. It is
      deleted at the end.
    options: Options of Beam, e.g. '--runner=DirectRunner'.
    counts: Receives the counts of all workers.

  Raises:
    UserError: A missing file or a bad record.
  """
  items = list(enumerate(sources.expand(reading.inputs, reading.format)))
  tf.io.gfile.makedirs(work_dir)
  try:
    with running.pipeline(options) as pipeline:
      files = pipeline | beam.Create(items) | 'SpreadFiles' >> beam.Reshuffle()
      # The id of an article without one is its number in the whole input.
      numbers = beam.pvalue.AsDict(files | beam.Map(_count, reading))
      _ = (
        files
        | beam.FlatMap(_read, numbers, reading, work_dir, batches)
        | 'SpreadBatches' >> beam.Reshuffle()
        | beam.ParDo(work)
      )
    yield _gather(work_dir, counts)
  finally:
    tf.io.gfile.rmtree(work_dir)


def batch_path(work_dir: str, name: str) -> str:
  """Returns the file of a batch by its name, 'file-batch'."""
  return os.path.join(work_dir, f'{_BATCH}{name}')


def _count(item, reading: Reading) -> tuple[int, int]:
  """Returns (number of the file, number of its articles)."""
  number, path = item
  counts = counts_lib.Counts(reading.skip_errors)
  articles = sources.read_articles(
    [path], reading.format, counts=counts, keys=reading.keys
  )
  try:
    for _ in articles:
      pass
  except errors.UserError:  # `_read` reports it.
    return number, 0
  return number, counts_lib.num_articles(counts.kept, counts.left_out)


def _read(item, numbers, reading: Reading, work_dir: str, batches: _Batches):
  """Yields ('file-batch', articles) for a file, and writes its counts."""
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
  try:
    for i, batch in enumerate(batches(articles)):
      yield f'{number:06d}-{i:08d}', batch
  except errors.UserError as error:  # A runner would hide it in a traceback.
    _write(os.path.join(work_dir, f'{_ERROR}{number:06d}'), str(error))
  write_counts(work_dir, f'{number:06d}', counts)


def write_counts(work_dir: str, name: str, counts: counts_lib.Counts) -> None:
  """Writes what a worker counted; `name` is that of its share of the work."""
  counted = {'kept': counts.kept, 'left_out': counts.left_out}
  _write(os.path.join(work_dir, f'{_COUNTS}{name}'), json.dumps(counted))


def _gather(work_dir: str, counts: counts_lib.Counts) -> list[str]:
  """Adds all that workers counted to `counts`; returns the batch files.

  Raises:
    UserError: The first that a worker met.
  """
  for path in _paths(work_dir, _ERROR):
    raise errors.UserError(_text(path))
  for path in _paths(work_dir, _COUNTS):
    counted = json.loads(_text(path))
    for what, number in counted['kept'].items():
      counts.keep(what, number)
    for reason, number in counted['left_out'].items():
      counts.drop(reason, number)
  return _paths(work_dir, _BATCH)


def _paths(work_dir: str, prefix: str) -> list[str]:
  """Returns the complete files of a kind, in order."""
  return sorted(
    os.path.join(work_dir, name)
    for name in tf.io.gfile.listdir(work_dir)
    if name.startswith(prefix) and not name.endswith('.part')
  )


def _write(path: str, text: str) -> None:
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write(text)


def _text(path: str) -> str:
  with tf.io.gfile.GFile(path) as file:
    return file.read()
