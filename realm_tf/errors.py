"""What a user's mistake raises; binaries turn it into one line and exit 2."""


class UserError(Exception):
  """A mistake in the user's flags or files.

  The message is a single line: what must hold, what was found (with file and
  line), and what to do. Programming errors raise ValueError instead.
  """

  def __init__(self, message: str):
    super().__init__(' '.join(message.split()))


class Stopped(Exception):  # noqa: N818, no error.
  """The process was asked to end, and nothing is lost; says how to go on."""
