"""Flags of all trainers: initial weights, devices, --resume, profiling."""

from __future__ import annotations

from typing import Optional

from . import launcher
from . import path_flags
from . import strategy_flags

from absl import flags

from realm_tf.training import initial_params
from realm_tf.training import job as job_lib

INIT_FROM = path_flags.existing(
  'init_from', 'Model directory to start from; missing parts start at random.'
)
_RESUME = flags.DEFINE_bool(
  'resume', False, "Continue from the run's last checkpoint."
)
_PROFILE_STEPS = flags.DEFINE_list(
  'profile_steps', [], 'First and last step to profile, like 100,110.'
)
launcher.check_flags(
  lambda profile_steps: (
    not profile_steps
    or len(profile_steps) == 2
    and all(step.isdigit() for step in profile_steps)
    and int(profile_steps[0]) <= int(profile_steps[1])
  ),
  '--profile_steps must be two steps, the later one last, like 100,110.',
)


def define_reader_init_from() -> flags.FlagHolder:
  """Defines --reader_init_from, for trainers that can join two models."""
  return path_flags.existing(
    'reader_init_from', 'Model directory of the reader; default: --init_from.'
  )


def job(run_dir: str, reader: Optional[flags.FlagHolder] = None) -> job_lib.Job:
  """Returns the job's settings; must precede any tensor, to split the CPU."""
  reader_dir = None if reader is None else reader.value
  init_from = initial_params.InitFrom(INIT_FROM.value, reader_dir)
  steps = _PROFILE_STEPS.value
  return job_lib.Job(
    run_dir,
    init_from,
    devices=strategy_flags.create(),
    resume=_RESUME.value,
    profile_steps=(int(steps[0]), int(steps[1])) if steps else None,
  )
