"""Defines the flags of binaries that read articles, and reads these."""

from collections.abc import Iterable, Sequence
import itertools
import os
from typing import Optional

from . import config_flags
from . import key_flags
from . import launcher

from absl import flags

from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.records import corpus_update
from realm_tf.world import inputs

INPUT = flags.DEFINE_multi_string(
  'input',
  None,
  "Articles: files, directories, globs, 'beir:DIR', 'tfds:NAME', 'hf_disk:DIR' "
  "or 'world'",
)
MAX_ARTICLES = flags.DEFINE_integer(
  'max_articles', None, 'Most articles to read; by default all.', 1
)
DROP_LISTS = flags.DEFINE_boolean(
  'drop_lists', True, 'Leave out lists, indices, outlines, disambiguations.'
)
ON_ERROR = flags.DEFINE_enum(
  'on_error',
  'stop',
  ['stop', 'skip'],
  'What to do with a record that cannot be read: end, or skip and count it.',
)
NUM_WORKERS = flags.DEFINE_integer(
  'num_workers', os.cpu_count(), 'Processes; results do not depend on it.', 1
)


def define_format(more: Sequence[str] = (), help: str = 'Format of --input.'):  # pylint: disable=redefined-builtin
  """Defines and returns --format, with formats besides those of articles."""
  return flags.DEFINE_enum('format', 'auto', [*inputs.FORMATS, *more], help)


def new_counts() -> counts_lib.Counts:
  return counts_lib.Counts(ON_ERROR.value == 'skip')


def read(
  what: str,
  format: str,  # pylint: disable=redefined-builtin
  counts: Optional[counts_lib.Counts] = None,
  plain: bool = True,
  update: Optional[corpus_update.CorpusUpdate] = None,
) -> Iterable[sources.Article]:
  """Returns the articles that the flags name, with a progress bar.

  Args:
    what: Caption of the progress bar.
    format: The value of --format.
    counts: Counts what is left out.
    plain: Whether to remove markup; otherwise the caller does.
    update: What the articles are added to.
  """
  added = (update.num_articles, update.find) if update else ()
  articles = inputs.read_articles(
    inputs.split(INPUT.value),
    format,
    config_flags.load().world,
    DROP_LISTS.value,
    counts or new_counts(),
    key_flags.keys(),
    *added,
  )
  if plain:
    articles = map(sources.plain, articles)
  articles = itertools.islice(articles, MAX_ARTICLES.value)
  return launcher.progress(articles, what, 'articles')


def description(counts: counts_lib.Counts) -> dict:
  """Returns what a manifest says about the input."""
  return {
    'input': inputs.split(INPUT.value or []),
    'max_articles': MAX_ARTICLES.value,
    'drop_lists': DROP_LISTS.value,
    'kept': counts.kept,
    'left_out': counts.left_out,
  }
