"""Flags of Apache Beam, and access to its pipelines."""

import importlib
from types import ModuleType

from absl import flags

from realm_tf import errors

_RUNNERS = {
  'direct': 'DirectRunner',
  'dask': 'apache_beam.runners.dask.dask_runner.DaskRunner',
  'dataflow': 'DataflowRunner',
  'flink': 'FlinkRunner',
  'spark': 'SparkRunner',
}
_RUNNER = flags.DEFINE_enum(
  'runner', 'local', ['local', *_RUNNERS], 'Local processes, or Apache Beam.'
)
_BEAM_OPTION = flags.DEFINE_multi_string(
  'beam_option', [], 'Flag of Apache Beam, as --beam_option=--project=P'
)


def is_local() -> bool:
  return _RUNNER.value == 'local'


def options() -> list[str]:
  return [f'--runner={_RUNNERS[_RUNNER.value]}', *_BEAM_OPTION.value]


def pipelines() -> ModuleType:
  """Returns `realm_tf.beam.pipelines`; UserError without Beam."""
  try:
    # Beam is an optional install and slow to load.
    return importlib.import_module('realm_tf.beam.pipelines')
  except ImportError as error:
    raise errors.UserError(
      f'--runner={_RUNNER.value} needs Apache Beam. Found: {error}. Run `pip '
      "install 'realm_tf[beam]'`, or use --runner=local."
    ) from error
