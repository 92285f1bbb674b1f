"""Checks that the blocks of a corpus fit in a job's sequences.

  embedding   [CLS] title [SEP] body [SEP]   lengths.block_tokens
  reading     [CLS] x [SEP] body [SEP]       lengths.joint_tokens, and
                                             finetuning.joint_tokens

Titles count with at most `lengths.title_tokens` wordpieces, x with its maximum
length. Longer blocks would silently lose their ends, so they are refused unless
`lengths.cut_blocks` is set.
"""

from typing import NamedTuple, Optional

from absl import logging
import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.data import block_table


class Reading(NamedTuple):
  """A sequence that holds a block.

  Attributes:
    field: Config field of its length.
    tokens: Length in wordpieces.
    others: Maximum number of other wordpieces, such as x, [CLS] and [SEP].
    with_title: Whether it also holds the title and another [SEP].
  """

  field: str
  tokens: int
  others: int
  with_title: bool = False


def of_pretraining(config: config_lib.ExperimentConfig) -> Reading:
  """Returns the sequence of the knowledge-augmented encoder."""
  lengths = config.lengths
  return Reading(
    'lengths.joint_tokens', lengths.joint_tokens, lengths.query_tokens + 1
  )


def of_finetuning(config: config_lib.ExperimentConfig) -> Reading:
  """Returns the sequence of the span reader."""
  return Reading(
    'finetuning.joint_tokens',
    config.finetuning.joint_tokens,
    config.lengths.question_tokens + 3,
    config.finetuning.read_titles,
  )


def check(
  table: block_table.BlockTable,
  lengths: config_lib.LengthConfig,
  reading: Optional[Reading] = None,
) -> None:
  """Raises UserError if blocks would be cut; warns if `cut_blocks` allows it.

  Blocks are measured only if the manifest's `max_block_wordpieces` does not
  fit. `reading` is the sequence of a job that also reads blocks.
  """
  embedding = Reading('lengths.block_tokens', lengths.block_tokens, 2, True)
  cuts = [_cut(table, lengths, each) for each in (embedding, reading) if each]
  cuts = [cut for cut in cuts if cut]
  if cuts and not lengths.cut_blocks:
    found, advice = cuts[0]
    raise errors.UserError(
      f'Blocks must be read whole. Found {found}. {advice}, or read only the '
      'beginnings of blocks with --set=lengths.cut_blocks=true.'
    )
  if cuts:
    logging.warning(
      'Some blocks are cut when they are read (`lengths.cut_blocks`): %s.',
      '; '.join(found for found, _ in cuts),
    )


def _cut(
  table: block_table.BlockTable,
  lengths: config_lib.LengthConfig,
  reading: Reading,
) -> Optional[tuple[str, str]]:
  """Returns (finding, advice) if blocks are cut, else None."""
  # The manifest's bound counts [CLS] title [SEP] body [SEP].
  bound = reading.tokens - reading.others + (2 if reading.with_title else 3)
  if table.manifest['max_block_wordpieces'] <= bound:
    return None
  titles, bodies = table.lengths()
  needed = bodies + reading.others
  if reading.with_title:
    needed = needed + np.minimum(titles, lengths.title_tokens) + 1
  count, longest = np.sum(needed > reading.tokens), needed.max()
  if not count:
    return None
  return (
    f'{count} of {len(needed)} blocks that need more than {reading.field}='
    f'{reading.tokens}, up to {longest}',
    f'Cut the corpus with --max_block_wordpieces={bound}, train with '
    f'{reading.field}={longest}',
  )
