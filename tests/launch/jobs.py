"""Functions that stages of tests run."""

import pathlib

from realm_tf import errors


def copy(input: str, output: str, times: int = 1):
  if times < 0:
    pathlib.Path(output).write_text('half')
    raise errors.UserError('--times must be at least 0.')
  pathlib.Path(output).write_text(pathlib.Path(input).read_text() * times)
