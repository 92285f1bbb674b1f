"""Defines the flags of all trainers: what to start from, devices, --resume."""

from typing import Optional

from . import strategy_flags

from absl import flags

from realm_tf import errors
from realm_tf.training import initial_params
from realm_tf.training import job as job_lib

INIT_FROM = flags.DEFINE_string(
  'init_from',
  None,
  'Model directory to start from; parts that it lacks start at random.',
)
_RESUME = flags.DEFINE_bool(
  'resume', False, 'Continue from the last checkpoint of the run.'
)
_PROFILE_STEPS = flags.DEFINE_list(
  'profile_steps', [], 'First and last step to profile, as 100,110.'
)


def define_reader_init_from() -> flags.FlagHolder:
  """Defines the flag of trainers that can join two models."""
  return flags.DEFINE_string(
    'reader_init_from',
    None,
    'Model directory whose reader, with its heads, replaces that of '
    '--init_from.',
  )


def job(run_dir: str, reader: Optional[flags.FlagHolder] = None) -> job_lib.Job:
  """Returns where, from which weights and on which devices a job runs.

  Must be called before any tensor is made: it may split the CPU.

  Args:
    run_dir: Value of --run_dir.
    reader: Flag from `define_reader_init_from`, where there is one.
  """
  reader_dir = None if reader is None else reader.value
  init_from = initial_params.InitFrom(INIT_FROM.value, reader_dir)
  return job_lib.Job(
    run_dir, init_from, strategy_flags.create(), _RESUME.value, _profile_steps()
  )


def _profile_steps() -> Optional[tuple[int, int]]:
  steps = _PROFILE_STEPS.value
  if not steps:
    return None
  if (
    len(steps) != 2
    or not all(each.isdigit() for each in steps)
    or int(steps[0]) > int(steps[1])
  ):
    raise errors.UserError(
      '--profile_steps must be two steps, the later one last. Found '
      f'{",".join(steps)}. Give --profile_steps=100,110, for example.'
    )
  return int(steps[0]), int(steps[1])
