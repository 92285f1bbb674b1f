"""The flags of work that Apache Beam may do, and the pipelines' start."""

from collections.abc import Iterator
import uuid

from bin import article_flags

from absl import flags

from realm_tf import errors
from realm_tf.corpus import inputs
from realm_tf.corpus import tally as tally_lib
from realm_tf.records import encoded_blocks
from realm_tf.text import wordpiece

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
  "Where articles are cut: here, or on one of Apache Beam's runners.",
)
_BEAM_OPTION = flags.DEFINE_multi_string(
  'beam_option', [], "Beam's own, e.g. --beam_option=--project=P; repeatable."
)


def is_local() -> bool:
  return _RUNNER.value == 'local'


def cut(
  tokenizer: wordpiece.WordpieceTokenizer,
  max_block_wordpieces: int,
  format: str,  # pylint: disable=redefined-builtin
  output_dir: str,
  tally: tally_lib.Tally,
) -> Iterator[encoded_blocks.EncodedBlocks]:
  """Returns the blocks of the articles that the flags name; cut with Beam."""
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
      article_flags.skips_errors(),
    ),
    (tokenizer.vocabulary, max_block_wordpieces),
    f'{output_dir.rstrip("/")}.{uuid.uuid4().hex[:8]}.beam',
    [f'--runner={_RUNNERS[_RUNNER.value]}', *_BEAM_OPTION.value],
    tally,
  )
