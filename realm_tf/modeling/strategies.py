"""Which devices a job computes on: strategies of tf.distribute by name."""

import os

os.environ.setdefault('TF_USE_LEGACY_KERAS', '1')  # official is tf_keras.

# pylint: disable=wrong-import-position
from official.common import distribute_utils  # noqa: E402
import tensorflow as tf  # noqa: E402

from realm_tf import errors  # noqa: E402

# The Model Garden's names.
NAMES = ('off', 'one_device', 'mirrored', 'multi_worker_mirrored', 'tpu')


def create(name: str, tpu: str = '') -> tf.distribute.Strategy:
  """Returns the strategy of a name, over all devices that it can use.

  Args:
    name: Of `NAMES`; 'off' is TensorFlow's own choice of one device.
    tpu: Address of the TPU; '' or 'local' for that of this machine.

  Raises:
    UserError: There is no such device.
  """
  num_gpus = len(tf.config.list_physical_devices('GPU'))
  try:
    return distribute_utils.get_distribution_strategy(
      name,
      num_gpus if name == 'mirrored' else min(num_gpus, 1),
      tpu_address=tpu,
    )
  except (ValueError, RuntimeError, tf.errors.OpError) as error:
    found = str(error).splitlines()[0].rstrip('.') or type(error).__name__
    raise errors.UserError(
      f'--distribution_strategy={name} must find its devices. Found: {found}. '
      'Give --tpu, or another strategy.'
    ) from error
