"""What --input of the binaries names: articles in files, or the world.

--input, --format -> [this file] -> articles, or tagged sentences
"""

from collections.abc import Iterator, Sequence
import functools
from typing import Optional

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.corpus import sources
from realm_tf.corpus import tagged_sentences
from realm_tf.corpus import tally as tally_lib
from realm_tf.world import generation
from realm_tf.world import writing

WORLD = 'world'
TAGGED = 'tagged'
FORMATS = (*sources.FORMATS, WORLD)


def split(values: Sequence[str]) -> list[str]:
  """Returns the inputs of a repeatable flag that also takes commas."""
  return [part for value in values for part in value.split(',') if part]


def is_world(inputs: Sequence[str], format: str) -> bool:  # pylint: disable=redefined-builtin
  """Returns whether the world is meant.

  Raises:
    UserError: It is named beside something else.
  """
  if WORLD not in (format, *inputs):
    return False
  if list(inputs) != [WORLD]:
    raise errors.UserError(
      'The world is an input alone, --input=world; got --input='
      f'{",".join(inputs)}. Make it a file with bin.make_world first.'
    )
  return True


def read_articles(
  inputs: Sequence[str],
  format: str,  # pylint: disable=redefined-builtin
  world: config_lib.WorldConfig,
  drop_lists: bool = True,
  tally: Optional[tally_lib.Tally] = None,
  first_number: int = 0,
) -> Iterator[sources.Article]:
  """Returns the articles of all inputs, some in need of `sources.plain`.

  Args:
    inputs: See `sources.read_articles`; or 'world' alone.
    format: One of FORMATS.
    world: What the world is like.
    drop_lists: Whether lists, indices, outlines and disambiguations are left
      out.
    tally: Counts what is left out, and says whether bad records are.
    first_number: Of the first article, for those without an id.
  """
  if is_world(inputs, format):
    return iter(generate_world(world).articles)
  return sources.read_articles(inputs, format, drop_lists, tally, first_number)


def read_tagged_sentences(
  inputs: Sequence[str],
  format: str,  # pylint: disable=redefined-builtin
  world: config_lib.WorldConfig,
  tally: Optional[tally_lib.Tally] = None,
) -> Optional[
  Iterator[tagged_sentences.TaggedSentence | writing.PretrainingSentence]
]:
  """Returns the sentences that need no tagger; None if the input has articles.

  Args:
    inputs: See `tagged_sentences.read`; or 'world' alone.
    format: TAGGED, or one of FORMATS.
    world: What the world is like.
    tally: Counts what is read and what is not.
  """
  if is_world(inputs, format):
    return iter(generate_world(world).sentences)
  return tagged_sentences.read(inputs, tally) if format == TAGGED else None


@functools.lru_cache(1)
def generate_world(config: config_lib.WorldConfig) -> generation.World:
  """Returns the world, the same one when it is asked for again."""
  return generation.generate(config)
