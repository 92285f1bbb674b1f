"""Flags of binaries that turn articles into a directory with a manifest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import itertools
import sys
from typing import Any, Optional
import uuid

from . import beam_flags
from . import launcher

from absl import flags
import tqdm

from realm_tf import machine
from realm_tf.corpus import article_records
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.data import corpus_files
from realm_tf.run import outputs

TAGGED = 'tagged'  # A format: sentences that name their spans.

INPUT = launcher.existing_path(
  'input',
  'Articles: file, directory, glob, beir:DIR, tfds:NAME or hf_disk:DIR',
  many=True,
)
_MAX_ARTICLES = flags.DEFINE_integer(
  'max_articles', None, 'Most articles to read; by default all.', 1
)
_DROP_LISTS = flags.DEFINE_boolean(
  'drop_lists', True, 'Skip lists, indices, outlines and disambiguations.'
)
_ON_ERROR = flags.DEFINE_enum(
  'on_error', 'stop', ['stop', 'skip'], 'Stop at a broken record, or skip it.'
)
_KEYS = [
  flags.DEFINE_string(
    f'{name}_key', '', f"Key or column of an article's {name}."
  )
  for name in ('id', 'title', 'text')
]
NUM_WORKERS = flags.DEFINE_integer(
  'num_workers', machine.cores(), 'Processes; the output is always the same.', 1
)
_OUTPUT_DIR = launcher.new_path('output_dir', 'New directory to write.')
_OVERWRITE = flags.DEFINE_boolean(
  'overwrite', False, 'Replace an existing --output_dir.'
)


def define_format(*more: str) -> None:
  """Defines --format: the formats of articles, and `more`."""
  formats = [*sources.FORMATS, *more]
  flags.DEFINE_enum('format', 'auto', formats, 'Format of --input.')
  launcher.check_flags(
    lambda runner, format, max_articles: (
      runner == 'local' or not max_articles and format != TAGGED
    ),
    'A --runner of Beam must read whole files of articles: leave out '
    '--format=tagged and --max_articles.',
  )


def split(values: Iterable[str]) -> list[str]:
  """Returns the parts between commas of the values of a repeated flag."""
  return [part for value in values for part in value.split(',') if part]


def begin() -> tuple[str, counts_lib.Counts]:
  """Returns --output_dir, which may be written, and empty counts."""
  outputs.check_new(_OUTPUT_DIR.value, _OVERWRITE.value)
  return _OUTPUT_DIR.value, counts_lib.Counts(_ON_ERROR.value == 'skip')


def read(
  what: str,
  counts: Optional[counts_lib.Counts] = None,
  update: Optional[corpus_files.CorpusUpdate] = None,
) -> Iterable[sources.Article]:
  """Returns the articles of --input, with `what` as caption of a progress bar.

  `update` is the corpus to add the articles to.
  """
  articles = sources.read_articles(
    split(INPUT.value),
    flags.FLAGS.format,
    _DROP_LISTS.value,
    counts or counts_lib.Counts(_ON_ERROR.value == 'skip'),
    article_records.Keys(*(key.value for key in _KEYS)),
    first_number=update.num_articles if update else 0,
    find_known=update.find if update else lambda article_id: '',
    num_workers=NUM_WORKERS.value,
  )
  articles = itertools.islice(articles, _MAX_ARTICLES.value)
  return progress(articles, what, 'articles')


def progress(items: Iterable, what: str, unit: str) -> Iterable:
  """Returns `items` with a progress bar on stdout; stderr is for errors."""
  return tqdm.tqdm(items, what, unit=f' {unit}', mininterval=1, file=sys.stdout)


def on_beam(
  name: str, work: Any, counts: counts_lib.Counts, first_number: int = 0
) -> Iterator[Any]:
  """Runs a function of `beam.pipelines` over --input; yields its results.

  `work` is its second argument. `first_number` is the number of the first
  article, if articles have no ids.
  """
  pipelines = beam_flags.pipelines()
  reading = pipelines.Reading(
    split(INPUT.value),
    flags.FLAGS.format,
    _DROP_LISTS.value,
    _ON_ERROR.value == 'skip',
    # All workers can write next to the output.
    f'{_OUTPUT_DIR.value.rstrip("/")}.{uuid.uuid4().hex[:8]}.beam',
    beam_flags.options(),
    first_number,
    article_records.Keys(*(key.value for key in _KEYS)),
  )
  return getattr(pipelines, name)(reading, work, counts)


def description(counts: counts_lib.Counts) -> dict[str, Any]:
  """Returns the input's description for a manifest."""
  return {
    'format': flags.FLAGS.format,
    'input': split(INPUT.value or []),
    'max_articles': _MAX_ARTICLES.value,
    'drop_lists': _DROP_LISTS.value,
    'kept': counts.kept,
    'left_out': counts.left_out,
  }
