"""Opens the --input of binaries: files, or the generated world."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import functools
from typing import Any, Optional

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.corpus import tagged_sentences
from realm_tf.world import generation

WORLD = 'world'
TAGGED = 'tagged'
FORMATS = (*sources.FORMATS, WORLD)


def split(values: Sequence[str]) -> list[str]:
  """Splits the values of a repeatable flag at commas."""
  return [part for value in values for part in value.split(',') if part]


def is_world(inputs: Sequence[str], format: str) -> bool:  # pylint: disable=redefined-builtin
  """Returns whether the input is the world; UserError if among other inputs."""
  if WORLD not in (format, *inputs):
    return False
  if list(inputs) != [WORLD]:
    raise errors.UserError(
      'The world must be the only input, --input=world. Found --input='
      f'{",".join(inputs)}. Write it to a file with bin.make_world first.'
    )
  return True


def read_articles(
  inputs: Sequence[str],
  format: str,  # pylint: disable=redefined-builtin
  world: config_lib.WorldConfig,
  drop_lists: bool = True,
  counts: Optional[counts_lib.Counts] = None,
  *reading: Any,
) -> Iterator[sources.Article]:
  """Returns the articles of the world, or of `sources.read_articles`.

  `reading` holds further arguments of `sources.read_articles`.
  """
  if is_world(inputs, format):
    return iter(generate_world(world).articles)
  return sources.read_articles(inputs, format, drop_lists, counts, *reading)


def read_tagged_sentences(
  inputs: Sequence[str],
  format: str,  # pylint: disable=redefined-builtin
  world: config_lib.WorldConfig,
  counts: Optional[counts_lib.Counts] = None,
) -> Optional[Iterator[tagged_sentences.TaggedSentence]]:
  """Returns sentences that need no tagger; None if the input has articles.

  `format` is TAGGED, or one of FORMATS.
  """
  if is_world(inputs, format):
    return iter(generate_world(world).sentences)
  return tagged_sentences.read(inputs, counts) if format == TAGGED else None


@functools.lru_cache(1)
def generate_world(config: config_lib.WorldConfig) -> generation.World:
  """Returns the world of a config; the last one is cached."""
  return generation.generate(config)
