"""Flags of bin.serve that its handlers read."""

from __future__ import annotations

from . import path_flags

from absl import flags

from realm_tf.run import recipe_result
from realm_tf.serving import access
from realm_tf.serving import handlers

_TOKEN_FILE = path_flags.existing(
  'token_file', 'File with the bearer token that requests must send.'
)
_TIMEOUT_SECS = flags.DEFINE_float(
  'timeout_secs', 30.0, 'Seconds until a request gets status 504.', 0.001
)
_EXAMPLES = path_flags.existing(
  'examples',
  "JSON file of questions and masked sentences, the page's buttons; by default "
  'examples.json of RUN_DIR.',
)
_BEST_EFFORT = flags.DEFINE_bool('best_effort', False, 'Call answers hints.')


def settings() -> handlers.Settings:
  """Returns the settings; UserError if a file is damaged."""
  token, examples = _TOKEN_FILE.value, _EXAMPLES.value
  return handlers.Settings(
    _TIMEOUT_SECS.value,
    token=token and access.read_token(token),
    best_effort=_BEST_EFFORT.value,
    examples=examples and recipe_result.read_examples(examples),
  )
