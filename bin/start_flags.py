"""The flags of a job that can join two models: --init_from and its reader's."""

from absl import flags

from realm_tf.training import initial_params

_INIT_FROM = flags.DEFINE_string(
  'init_from', None, 'Model directory to start from.'
)
_READER_INIT_FROM = flags.DEFINE_string(
  'reader_init_from',
  None,
  'Model directory whose reader, with the heads it has, to start from, '
  'instead of that of --init_from.',
)


def init_from() -> initial_params.InitFrom:
  """Returns what these flags say."""
  return initial_params.InitFrom(_INIT_FROM.value, _READER_INIT_FROM.value)
