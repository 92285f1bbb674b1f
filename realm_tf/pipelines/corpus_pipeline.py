"""Cuts articles into blocks on Apache Beam, on many machines.

  files -> count -> [workers: read, batch] -> [workers: cut] -> batch files
  batch files -> [this process: order, duplicates] -> encoded blocks

The blocks are those of `corpus_building.build`.
"""

from collections.abc import Iterator, Sequence
import json
import os
from typing import NamedTuple

import apache_beam as beam
import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import blocks
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.pipelines import running
from realm_tf.records import batch_files
from realm_tf.records import corpus_building
from realm_tf.records import encoded_blocks

_BATCH, _COUNTS, _ERROR = 'batch-', 'counts-', 'error-'


class Reading(NamedTuple):
  """Arguments of `sources.read_articles`.

  Attributes:
    inputs: Files, directories, globs, datasets.
    format: One of `sources.FORMATS`.
    drop_lists: Whether to leave out lists and the like.
    skip_errors: Whether to skip unreadable records.
    first_number: Number of the first article.
  """

  inputs: Sequence[str]
  format: str
  drop_lists: bool
  skip_errors: bool
  first_number: int = 0


def build(
  reading: Reading,
  cutter: tuple[Sequence[str], int],
  work_dir: str,
  options: Sequence[str],
  counts: counts_lib.Counts,
) -> Iterator[encoded_blocks.EncodedBlocks]:
  """Cuts on a Beam runner, then yields the blocks of `corpus_building.build`.

  Args:
    reading: Input; every worker must be able to read its paths.
    cutter: Arguments of `corpus_building.Cutter`.
    work_dir: New directory for batches, writable from every worker. It is
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
      _cut_all(pipeline, items, reading, cutter, work_dir)
    _gather(work_dir, counts)
    names = _names(work_dir, _BATCH)
    batches = (batch_files.read(os.path.join(work_dir, n)) for n in names)
    yield from corpus_building.without_duplicates(batches, counts)
  finally:
    tf.io.gfile.rmtree(work_dir)


def _cut_all(pipeline, items, reading, cutter, work_dir) -> None:
  files = pipeline | beam.Create(items) | 'SpreadFiles' >> beam.Reshuffle()
  # The id of an article without one is its number in the whole input.
  numbers = files | beam.Map(_count, reading)
  _ = (
    files
    | beam.FlatMap(_read, beam.pvalue.AsDict(numbers), reading, work_dir)
    | 'SpreadBatches' >> beam.Reshuffle()
    | beam.ParDo(_Cut(cutter, work_dir))
  )


def _count(item, reading: Reading) -> tuple[int, int]:
  """Returns (number of the file, number of its articles)."""
  number, path = item
  counts = counts_lib.Counts(reading.skip_errors)
  articles = sources.read_articles([path], reading.format, counts=counts)
  try:
    return number, sum(1 for _ in articles)
  except errors.UserError:  # `_read` reports it.
    return number, 0


def _read(item, numbers, reading: Reading, work_dir: str):
  """Yields ('file-batch', articles) for a file, and writes its counts."""
  number, path = item
  counts = counts_lib.Counts(reading.skip_errors)
  articles = sources.read_articles(
    [path],
    reading.format,
    reading.drop_lists,
    counts,
    reading.first_number
    + sum(count for other, count in numbers.items() if other < number),
  )
  try:
    for i, batch in enumerate(blocks.batches(articles)):
      yield f'{number:06d}-{i:08d}', batch
  except errors.UserError as error:  # A runner would hide it in a traceback.
    _write(os.path.join(work_dir, f'{_ERROR}{number:06d}'), str(error))
  counted = {'kept': counts.kept, 'left_out': counts.left_out}
  _write(os.path.join(work_dir, f'{_COUNTS}{number:06d}'), json.dumps(counted))


class _Cut(beam.DoFn):
  """Cuts a batch of articles and writes the file of its blocks."""

  def __init__(self, cutter, work_dir: str):
    self._arguments, self._work_dir = cutter, work_dir

  def setup(self):
    self._cut = corpus_building.Cutter(*self._arguments)

  def process(self, element):
    name, articles = element
    path = os.path.join(self._work_dir, f'{_BATCH}{name}')
    batch_files.write(self._cut(articles), path)


def _gather(work_dir: str, counts: counts_lib.Counts) -> None:
  """Adds the counts of all files to `counts`; raises the first error."""
  for name in _names(work_dir, _ERROR):
    raise errors.UserError(_text(os.path.join(work_dir, name)))
  for name in _names(work_dir, _COUNTS):
    counted = json.loads(_text(os.path.join(work_dir, name)))
    for what, number in counted['kept'].items():
      counts.keep(what, number)
    for reason, number in counted['left_out'].items():
      counts.drop(reason, number)


def _names(work_dir: str, prefix: str) -> list[str]:
  """Returns the complete files of a kind, in order."""
  return sorted(
    name
    for name in tf.io.gfile.listdir(work_dir)
    if name.startswith(prefix) and not name.endswith('.part')
  )


def _write(path: str, text: str) -> None:
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write(text)


def _text(path: str) -> str:
  with tf.io.gfile.GFile(path) as file:
    return file.read()
