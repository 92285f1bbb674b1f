"""Defines --output_dir of binaries that write a directory with a manifest."""

from absl import flags

from realm_tf.rundir import manifests
from realm_tf.rundir import output_paths

_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', None, 'New directory to write.', required=True
)
_OVERWRITE = flags.DEFINE_boolean(
  'overwrite', False, 'Replace what --output_dir holds.'
)


def new_directory() -> str:
  """Returns --output_dir, after a check that it may be written."""
  output_paths.check_directory(_OUTPUT_DIR.value)
  manifests.check_output(_OUTPUT_DIR.value, _OVERWRITE.value)
  return _OUTPUT_DIR.value
