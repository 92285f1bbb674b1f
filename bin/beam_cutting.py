"""Cuts the blocks of bin.make_blocks with Apache Beam."""

from collections.abc import Iterator, Sequence
import uuid

from . import article_flags
from . import beam_flags

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.records import encoded_blocks
from realm_tf.world import inputs


def cut(
  cutter: tuple[Sequence[str], int],
  format: str,  # pylint: disable=redefined-builtin
  work_prefix: str,
  counts: counts_lib.Counts,
  first_number: int,
) -> Iterator[encoded_blocks.EncodedBlocks]:
  """Returns the blocks of the articles that the flags name, cut with Beam.

  Args:
    cutter: Arguments of `corpus_building.Cutter`.
    format: The value of --format.
    work_prefix: Beginning of the path of a directory for temporary files.
    counts: Counts what is left out.
    first_number: Number of the first article, if articles have no ids.
  """
  names = inputs.split(article_flags.INPUT.value)
  if inputs.is_world(names, format) or article_flags.MAX_ARTICLES.value:
    raise errors.UserError(
      f'--runner={beam_flags.name()} must read whole files. Found '
      '--input=world or --max_articles. Use --runner=local.'
    )
  corpus_pipeline = beam_flags.load('corpus_pipeline')
  return corpus_pipeline.build(
    corpus_pipeline.Reading(
      names,
      format,
      article_flags.DROP_LISTS.value,
      article_flags.ON_ERROR.value == 'skip',
      first_number,
    ),
    cutter,
    f'{work_prefix}{uuid.uuid4().hex[:8]}.beam',
    beam_flags.options(),
    counts,
  )
