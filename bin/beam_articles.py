"""Reads the articles of bin.make_blocks and bin.make_queries on Apache Beam."""

from collections.abc import Iterator, Sequence
from typing import Any, Optional
import uuid

from . import article_flags
from . import beam_flags
from . import key_flags

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.records import encoded_blocks
from realm_tf.records import query_table
from realm_tf.world import inputs


def cut(
  cutter: tuple[Sequence[str], int],
  format: str,  # pylint: disable=redefined-builtin
  output_dir: str,
  counts: counts_lib.Counts,
  first_number: int,
) -> Iterator[encoded_blocks.EncodedBlocks]:
  """Returns the blocks of the articles that the flags name.

  Args:
    cutter: Arguments of `corpus_building.Cutter`.
    format: The value of --format.
    output_dir: Temporary files are written beside it.
    counts: Counts what is left out.
    first_number: Number of the first article, if articles have no ids.
  """
  return _build(
    'corpus_pipeline', cutter, format, output_dir, counts, first_number
  )


def tag(
  corpus_dir: str,
  tagger: Optional[str],
  gazetteer: Sequence[str],
  format: str,  # pylint: disable=redefined-builtin
  output_dir: str,
  counts: counts_lib.Counts,
) -> Iterator[query_table.Query]:
  """Returns the queries of the articles that the flags name.

  Args:
    corpus_dir: See `query_pipeline.Tagging`; so for the next two.
    tagger: Or None.
    gazetteer: Names of countries.
    format: The value of --format.
    output_dir: Temporary files are written beside it.
    counts: Counts what is left out.
  """
  pipeline = beam_flags.load('query_pipeline')
  tagging = pipeline.Tagging(corpus_dir, tagger, gazetteer)
  return _build('query_pipeline', tagging, format, output_dir, counts)


def _build(
  name: str, work: Any, format: str, output_dir, counts, first_number: int = 0
):
  names = inputs.split(article_flags.INPUT.value)
  is_made_up = inputs.is_world(names, format) or format == inputs.TAGGED
  if is_made_up or article_flags.MAX_ARTICLES.value:
    raise errors.UserError(
      f'--runner={beam_flags.name()} must read whole files of articles. Found '
      '--input=world, --format=tagged or --max_articles. Use --runner=local.'
    )
  pipeline = beam_flags.load(name)
  reading = beam_flags.load('reading').Reading(
    names,
    format,
    article_flags.DROP_LISTS.value,
    article_flags.ON_ERROR.value == 'skip',
    first_number,
    key_flags.keys(),
  )
  work_dir = f'{output_dir.rstrip("/")}.{uuid.uuid4().hex[:8]}.beam'
  return pipeline.build(reading, work, work_dir, beam_flags.options(), counts)
