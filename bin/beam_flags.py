"""Defines the flags of Apache Beam, and cuts blocks with it."""

from collections.abc import Iterator, Sequence
import uuid

from . import article_flags

from absl import flags

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.records import encoded_blocks
from realm_tf.world import inputs

_RUNNERS = {
  'direct': 'DirectRunner',
  'dataflow': 'DataflowRunner',
  'flink': 'FlinkRunner',
  'spark': 'SparkRunner',
}
_RUNNER = flags.DEFINE_enum(
  'runner',
  'local',
  ['local', *_RUNNERS],
  'Where articles are cut: in local processes, or by a runner of Apache Beam.',
)
_BEAM_OPTION = flags.DEFINE_multi_string(
  'beam_option', [], 'Flag of Apache Beam, as --beam_option=--project=P'
)


def is_local() -> bool:
  return _RUNNER.value == 'local'


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
      f'--runner={_RUNNER.value} must read whole files. Found --input=world or '
      '--max_articles. Use --runner=local.'
    )
  try:
    # Beam is an extra: few need it, and it is slow to load.
    from realm_tf.pipelines import corpus_pipeline  # pylint: disable=g-import-not-at-top
  except ImportError as error:
    raise errors.UserError(
      f'--runner={_RUNNER.value} needs Apache Beam. Found: {error}. Run `pip '
      "install 'realm_tf[beam]'`, or use --runner=local."
    ) from error
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
    [f'--runner={_RUNNERS[_RUNNER.value]}', *_BEAM_OPTION.value],
    counts,
  )
