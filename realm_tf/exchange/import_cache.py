"""hf:DIR or hf:OWNER/MODEL -> a model directory, imported once.

It lies in $XDG_CACHE_HOME/realm_tf, by default ~/.cache/realm_tf, under a hash
of the source's files: a changed source is imported again.
"""

import contextlib
import functools
import hashlib
import json
import os
import shutil
import tempfile

from realm_tf import output_files
from realm_tf.exchange import hugging_face
from realm_tf.exchange import hugging_face_hub
from realm_tf.exchange import model_writing
from realm_tf.run import manifests

_FORMAT = 1  # Another number for another import of the same files.


@functools.cache
def model_dir(given: str) -> str:
  """Returns the model directory of a source; a path without hf: as given.

  Raises UserError as `hugging_face.load` does.
  """
  if not given.startswith('hf:'):
    return given
  source = hugging_face_hub.directory(given.removeprefix('hf:'))
  files = [_FORMAT, manifests.describe_all(source)]
  key = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
  home = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
  # A user without a home directory has '~'.
  path = os.path.join('/', home, 'realm_tf', key[:16])
  if os.path.isdir(path):
    return path
  output_files.check(path, advice='Set XDG_CACHE_HOME to a folder.')
  imported = hugging_face.load(source)
  os.makedirs(os.path.dirname(path), exist_ok=True)
  made = tempfile.mkdtemp(prefix=f'{key[:16]}.', dir=os.path.dirname(path))
  try:
    model_writing.write(imported, made)
    with contextlib.suppress(OSError):  # Another process was faster.
      os.rename(made, path)
  finally:
    shutil.rmtree(made, ignore_errors=True)
  return path
