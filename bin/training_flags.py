"""The flags that all trainers share: devices, --resume, --profile_steps."""

from bin import strategy_flags

from absl import flags

from realm_tf import errors
from realm_tf.training import setup as setup_lib

_RESUME = flags.DEFINE_bool(
  'resume', False, 'Go on from the last checkpoint of the run.'
)
_PROFILE_STEPS = flags.DEFINE_list(
  'profile_steps', [], 'First and last step of a profile for TensorBoard.'
)


def setup() -> setup_lib.Setup:
  """Returns how this process trains.

  Raises:
    UserError: A flag has a wrong value, or there are no such devices.
  """
  steps = _PROFILE_STEPS.value
  if steps and not (
    len(steps) == 2
    and all(each.isdigit() for each in steps)
    and int(steps[0]) <= int(steps[1])
  ):
    raise errors.UserError(
      '--profile_steps must be two steps, the later one last. Found '
      f'{",".join(steps)}. Give --profile_steps=100,110, for example.'
    )
  return setup_lib.Setup(
    strategy_flags.create(),
    _RESUME.value,
    (int(steps[0]), int(steps[1])) if steps else None,
  )
