"""Errors for other people: of users, of clients, and requested stops."""


class UserError(Exception):
  """A mistake in the user's flags or files; binaries exit with code 2.

  The message is a single line: what must hold, what was found (with file and
  line), and what to do. Programming errors raise ValueError instead.
  """

  def __init__(self, message: str):
    super().__init__(' '.join(message.split()))


class Stopped(Exception):  # noqa: N818, no error.
  """A requested stop that lost nothing; the message says how to continue."""


class RequestError(Exception):
  """A request that the server refuses.

  Attributes:
    status: Status code of HTTP.
    message: What must hold, and what the server found; clients read it.
  """

  def __init__(self, message: str, *, status: int = 400):
    super().__init__(message)
    self.status = status
    self.message = message
