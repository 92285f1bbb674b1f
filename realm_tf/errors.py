"""Exceptions for mistakes of users and clients, and for requested stops."""


class UserError(Exception):
  """A mistake in the user's flags or files; binaries exit with code 2.

  The message is one line: "X must ... Found ... (file, line). Do ...".
  Programming errors raise ValueError instead.
  """

  def __init__(self, message: str):
    super().__init__(' '.join(message.split()))


class Stopped(Exception):  # noqa: N818, no error.
  """A requested stop that lost nothing; the message says how to continue."""


class RequestError(Exception):
  """A refused request; clients read its message and HTTP status code."""

  def __init__(self, message: str, *, status: int = 400):
    super().__init__(message)
    self.status = status
    self.message = message
