"""The flags of binaries that read articles, and the reading."""

from collections.abc import Iterable, Sequence
import itertools
from typing import Optional

from bin import config_flags
from bin import launcher

from absl import flags

from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.world import inputs

INPUT = flags.DEFINE_multi_string(
  'input',
  None,
  "Files, directories, globs, 'tfds:NAME' or 'world'; repeatable.",
)
MAX_ARTICLES = flags.DEFINE_integer(
  'max_articles', None, 'Of the input to read.', lower_bound=1
)
DROP_LISTS = flags.DEFINE_boolean(
  'drop_lists', True, 'Drop lists, indices, outlines, disambiguations.'
)
_ON_ERROR = flags.DEFINE_enum(
  'on_error',
  'stop',
  ['stop', 'skip'],
  'Whether a record that cannot be read is an error, or skipped and counted.',
)


def define_format(more: Sequence[str] = (), help: str = 'Of the input.'):  # pylint: disable=redefined-builtin
  """Defines and returns --format, with formats besides those of articles."""
  return flags.DEFINE_enum('format', 'auto', [*inputs.FORMATS, *more], help)


def skips_errors() -> bool:
  return _ON_ERROR.value == 'skip'


def new_counts() -> counts_lib.Counts:
  return counts_lib.Counts(skips_errors())


def read(
  what: str,
  format: str,  # pylint: disable=redefined-builtin
  counts: Optional[counts_lib.Counts] = None,
  plain: bool = True,
  first_number: int = 0,
) -> Iterable[sources.Article]:
  """Returns the articles that the flags name, with a progress bar.

  Args:
    what: Is done with them.
    format: The value of --format.
    counts: Counts what is left out; None counts it for nobody.
    plain: Whether markup is removed here, and not by who uses them.
    first_number: Of the first article, for those without an id.
  """
  articles = inputs.read_articles(
    inputs.split(INPUT.value),
    format,
    config_flags.load().world,
    DROP_LISTS.value,
    counts or new_counts(),
    first_number,
  )
  if plain:
    articles = map(sources.plain, articles)
  articles = itertools.islice(articles, MAX_ARTICLES.value)
  return launcher.progress(articles, what, 'articles')


def description(counts: counts_lib.Counts) -> dict:
  """Returns what a manifest says about the input.

  Args:
    counts: May still be counting when the manifest is begun.
  """
  return {
    'input': inputs.split(INPUT.value or []),
    'max_articles': MAX_ARTICLES.value,
    'drop_lists': DROP_LISTS.value,
    'kept': counts.kept,
    'left_out': counts.left_out,
  }
