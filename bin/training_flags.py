"""Flags of all trainers: initial weights, devices, --resume."""

from __future__ import annotations

from typing import Optional

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


def define_reader_init_from() -> flags.FlagHolder:
  """Defines --reader_init_from, for trainers that can join two models."""
  return launcher.existing_path(
    'reader_init_from', 'Model directory of the reader; default: --init_from.'
  )


def job(run_dir: str, reader: Optional[flags.FlagHolder] = None) -> job_lib.Job:
  """Returns the job's settings; must precede any tensor, to split the CPU."""
  reader_dir = None if reader is None else reader.value
  init_from = job_lib.InitFrom(INIT_FROM.value, reader_dir)
  return job_lib.Job(
    run_dir, init_from, devices=strategy_flags.create(), resume=_RESUME.value
  )
