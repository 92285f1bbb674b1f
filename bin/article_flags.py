"""Flags of binaries that turn articles into a directory with a manifest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
import itertools
import os
from typing import Any, Optional
import uuid

from . import beam_flags
from . import input_flags
from . import launcher

from absl import flags

from realm_tf.corpus import article_records
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.records import corpus_update
from realm_tf.rundir import outputs
from realm_tf.world import inputs

INPUT = input_flags.define(
  'input',
  "Articles: files, directories, globs, 'beir:DIR', 'tfds:NAME', 'hf_disk:DIR' "
  "or 'world'",
  many=True,
)
_MAX_ARTICLES = flags.DEFINE_integer(
  'max_articles', None, 'Most articles to read; by default all.', 1
)
_DROP_LISTS = flags.DEFINE_boolean(
  'drop_lists', True, 'Skip lists, indices, outlines and disambiguations.'
)
_ON_ERROR = flags.DEFINE_enum(
  'on_error',
  'stop',
  ['stop', 'skip'],
  'Treatment of an unreadable record: stop, or skip and count it.',
)
_KEYS = [
  flags.DEFINE_string(
    f'{name}_key', '', f"Key or column of an article's {name}."
  )
  for name in ('id', 'title', 'text')
]
NUM_WORKERS = flags.DEFINE_integer(
  'num_workers', os.cpu_count(), 'Processes; the output is always the same.', 1
)
_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', None, 'New directory to write.', required=True
)
_OVERWRITE = flags.DEFINE_boolean(
  'overwrite', False, 'Replace an existing --output_dir.'
)


def define_format(
  more: Sequence[str] = (), text: str = 'Format of --input.'
) -> None:
  """Defines --format: the formats of articles, and `more`."""
  made_up = {inputs.WORLD, inputs.TAGGED}
  flags.DEFINE_enum('format', 'auto', [*inputs.FORMATS, *more], text)
  launcher.check_flags(
    lambda runner, input, format, max_articles: (
      runner == 'local'
      or not max_articles
      and made_up.isdisjoint([format, *(input or [])])
    ),
    'A --runner of Beam must read whole files of articles: leave out '
    '--input=world, --format=tagged and --max_articles.',
  )


def new_output_dir() -> str:
  """Returns --output_dir after checking that it may be written."""
  outputs.check_directory(_OUTPUT_DIR.value)
  outputs.check_new(_OUTPUT_DIR.value, _OVERWRITE.value)
  return _OUTPUT_DIR.value


def new_counts() -> counts_lib.Counts:
  return counts_lib.Counts(_ON_ERROR.value == 'skip')


def read(
  what: str,
  counts: Optional[counts_lib.Counts] = None,
  plain: bool = True,
  update: Optional[corpus_update.CorpusUpdate] = None,
) -> Iterable[sources.Article]:
  """Returns the articles of --input, with `what` as caption of a progress bar.

  `plain` removes markup. `update` is the corpus to add the articles to.
  """
  added = (update.num_articles, update.find) if update else ()
  articles = inputs.read_articles(
    inputs.split(INPUT.value),
    flags.FLAGS.format,
    launcher.config().world,
    _DROP_LISTS.value,
    counts or new_counts(),
    article_records.Keys(*(key.value for key in _KEYS)),
    *added,
  )
  if plain:
    articles = map(sources.plain, articles)
  articles = itertools.islice(articles, _MAX_ARTICLES.value)
  return launcher.progress(articles, what, 'articles')


def build_on_beam(
  pipeline: Any, work: Any, counts: counts_lib.Counts, first_number: int = 0
) -> Iterator[Any]:
  """Runs a module of `realm_tf.pipelines` over --input; yields its results.

  `work` is the second argument of `pipeline.build`. `first_number` is the
  number of the first article, if articles have no ids.
  """
  reading = beam_flags.load('reading').Reading(
    inputs.split(INPUT.value),
    flags.FLAGS.format,
    _DROP_LISTS.value,
    _ON_ERROR.value == 'skip',
    # All workers can write next to the output.
    f'{_OUTPUT_DIR.value.rstrip("/")}.{uuid.uuid4().hex[:8]}.beam',
    beam_flags.options(),
    first_number,
    article_records.Keys(*(key.value for key in _KEYS)),
  )
  return pipeline.build(reading, work, counts)


def description(counts: counts_lib.Counts) -> dict[str, Any]:
  """Returns the input's description for a manifest."""
  return {
    'format': flags.FLAGS.format,
    'input': inputs.split(INPUT.value or []),
    'max_articles': _MAX_ARTICLES.value,
    'drop_lists': _DROP_LISTS.value,
    'kept': counts.kept,
    'left_out': counts.left_out,
  }
