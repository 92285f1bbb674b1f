"""A user's files -> a hash of their contents.

The cache remembers a file's hash by its size and time of change, so 100 GB are
read once.
"""

import glob
import hashlib
import os

from . import user_cache

from realm_tf import errors

_TABLE = 'contents'
_READ_BYTES = 1 << 22


def of_input(text: str) -> str:
  """Returns the fingerprint of a `recipe.Input`.

  Raises:
    UserError: A file is missing.
  """
  if text == 'world' or '://' in text or text.startswith('tfds:'):
    return text  # No local files.
  path = text if os.path.exists(text) else text.partition(':')[2] or text
  files = _files(path)
  if not files:
    raise errors.UserError(
      f'The input {text} must exist. Found no file {path}. Correct the path.'
    )
  known = user_cache.load(_TABLE)
  rows = {file: _row(file, known.get(file)) for file in files}
  new = {file: row for file, row in rows.items() if row != known.get(file)}
  if new:
    user_cache.add(_TABLE, new)
  root = os.path.abspath(path)
  contents = [
    (os.path.relpath(file, root if os.path.isdir(root) else file), row[2])
    for file, row in rows.items()
  ]
  return hashlib.blake2b(repr(contents).encode(), digest_size=16).hexdigest()


def _files(path: str) -> list[str]:
  found = []
  for each in sorted(glob.glob(path)) or [path]:
    if os.path.isdir(each):
      found += [
        os.path.join(folder, name)
        for folder, _, names in os.walk(each)
        for name in names
      ]
    elif os.path.isfile(each):
      found.append(each)
  return sorted(map(os.path.abspath, found))


def _row(file: str, known: list | None) -> list:
  """Returns [size, time of change, hash]."""
  status = os.stat(file)
  now = [status.st_size, status.st_mtime_ns]
  if known and known[:2] == now:
    return known
  digest = hashlib.blake2b(digest_size=16)
  with open(file, 'rb') as content:
    while part := content.read(_READ_BYTES):
      digest.update(part)
  return [*now, digest.hexdigest()]
