"""The flags that say which devices a binary embeds on."""

from absl import flags
import tensorflow as tf

from realm_tf import errors
from realm_tf.modeling import strategies

_STRATEGY = flags.DEFINE_enum(
  'distribution_strategy', 'off', strategies.NAMES, 'Of tf.distribute.'
)
_TPU = flags.DEFINE_string('tpu', '', "The TPU's address; '' is a local one.")


def create_local() -> tf.distribute.Strategy:
  """Returns the strategy, whose devices are all of this machine.

  Raises:
    UserError: They are not, or there are none.
  """
  if _STRATEGY.value == 'multi_worker_mirrored':
    raise errors.UserError(
      'Machines embed apart, each with its own devices. Found '
      '--distribution_strategy=multi_worker_mirrored. Start bin.refresh_index '
      'on each, with --worker and --num_workers.'
    )
  return strategies.create(_STRATEGY.value, _TPU.value)
