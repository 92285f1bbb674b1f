"""Flags of the trainers of models: a corpus, the run directory, the config."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses

from . import config_flags
from . import corpus_flags
from . import launcher
from . import training_flags

from absl import flags

from realm_tf.training import job as job_lib

_RUN_DIR = launcher.new_path(
  'run_dir', 'New model directory; bin.refresh_index works in it, too.'
)


def define_reader_init_from() -> flags.FlagHolder:
  """Defines --reader_init_from, for trainers that can join two models."""
  return launcher.existing_path(
    'reader_init_from', 'Model directory of the reader; default: --init_from.'
  )


def begin(
  reader_dir: str | None = None, imported: Callable[[str], str] = str
) -> tuple[job_lib.Job, job_lib.Inputs]:
  """Returns the job and its inputs; must precede any tensor.

  Args:
    imported: Reader of the flag -> its model directory.
  """
  job = training_flags.job(_RUN_DIR.value)
  config = config_flags.config()
  if reader_dir:
    reader_dir = imported(reader_dir)
    init_from = job.init_from._replace(reader_dir=reader_dir)
    job = job._replace(init_from=init_from)
    config = dataclasses.replace(
      config, model=job_lib.with_reader_of(reader_dir, config.model)
    )
  return job, job_lib.open_inputs(config, corpus_flags.CORPUS_DIR.value)
