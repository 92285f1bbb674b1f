"""The cutting of `make_blocks` on Apache Beam, for text of many machines.

  files -> count -> [workers: read, batch] -> [workers: cut] -> batch files
  batch files -> [this process: order, duplicates] -> a corpus directory

The functions are those of the local path, and so are the blocks. The only
import of apache_beam.
"""

from collections.abc import Iterator, Sequence
import json
import os
from typing import NamedTuple

from absl import logging
import apache_beam as beam
from apache_beam.options import pipeline_options
import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import blocks
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.records import batch_files
from realm_tf.records import corpus_building
from realm_tf.records import encoded_blocks

_BATCH, _COUNTS, _ERROR = 'batch-', 'counts-', 'error-'


class Reading(NamedTuple):
  """How the input is read; see `sources.read_articles`.

  Attributes:
    inputs: Files, directories, globs, datasets.
    format: One of `sources.FORMATS`.
    drop_lists: Whether lists and the like are left out.
    skip_errors: Whether records that cannot be read are.
    first_number: Of the first article, for those without an id.
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
  """Cuts on a Beam runner, then yields the blocks as `corpus_building.build`.

  Args:
    reading: Paths must be readable from every worker.
    cutter: Arguments of `corpus_building.Cutter`.
    work_dir: New; for batches, writable from every worker. Deleted at the end.
    options: Beam's own, e.g. '--runner=DirectRunner'.
    counts: Gets what all workers counted.

  Raises:
    UserError: A missing file or a bad record.
  """
  items = list(enumerate(sources.expand(reading.inputs, reading.format)))
  tf.io.gfile.makedirs(work_dir)
  try:
    _run(items, reading, cutter, work_dir, options)
    _gather(work_dir, counts)
    names = _names(work_dir, _BATCH)
    batches = (batch_files.read(os.path.join(work_dir, n)) for n in names)
    yield from corpus_building.without_duplicates(batches, counts)
  finally:
    tf.io.gfile.rmtree(work_dir)


def _run(items, reading, cutter, work_dir, options) -> None:
  try:
    with beam.Pipeline(
      options=pipeline_options.PipelineOptions(list(options))
    ) as pipeline:
      _cut_all(pipeline, items, reading, cutter, work_dir)
  except Exception as error:  # Of Beam, its runners, and their services.
    logging.info('Beam ended with:', exc_info=True)
    raise errors.UserError(
      f'Beam must run with {" ".join(options)}. Found {type(error).__name__}: '
      f'{str(error).strip()[:300]!r}. Check --runner and --beam_option.'
    ) from error


def _cut_all(pipeline, items, reading, cutter, work_dir) -> None:
  files = pipeline | beam.Create(items) | 'SpreadFiles' >> beam.Reshuffle()
  # An article without an id is known by its number in all of the input.
  numbers = files | beam.Map(_count, reading)
  _ = (
    files
    | beam.FlatMap(_read, beam.pvalue.AsDict(numbers), reading, work_dir)
    | 'SpreadBatches' >> beam.Reshuffle()
    | beam.ParDo(_Cut(cutter, work_dir))
  )


def _count(item, reading: Reading) -> tuple[int, int]:
  """Returns how many articles a file has, whatever is done with them."""
  number, path = item
  counts = counts_lib.Counts(reading.skip_errors)
  articles = sources.read_articles([path], reading.format, counts=counts)
  try:
    return number, sum(1 for _ in articles)
  except errors.UserError:  # Said by `_read`, which meets it again.
    return number, 0


def _read(item, numbers, reading: Reading, work_dir: str):
  """Yields ('file-batch', articles) of a file, and writes its counts."""
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
  except errors.UserError as error:  # A runner would bury it in a traceback.
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
  """Adds up the counts of all files; raises the first error of all."""
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
