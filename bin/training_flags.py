"""Flags of all trainers: initial weights, devices, --resume."""

from __future__ import annotations

from . import launcher
from . import strategy_flags

from absl import flags

from realm_tf.training import job as job_lib

INIT_FROM = launcher.existing_path(
  'init_from', 'Model directory to start from; missing parts start at random.'
)
_RESUME = flags.DEFINE_bool(
  'resume', False, "Continue from the run's last checkpoint."
)


def job(run_dir: str) -> job_lib.Job:
  """Returns the job's settings; must precede any tensor, to split the CPU."""
  init_from = job_lib.InitFrom(INIT_FROM.value)
  return job_lib.Job(
    run_dir, init_from, devices=strategy_flags.create(), resume=_RESUME.value
  )
