"""Names on the Hugging Face hub -> directories, in the hub library's cache."""

import os

import huggingface_hub
from huggingface_hub import errors as hub_errors

from realm_tf import errors
from realm_tf.config import names

_FILES = ('*.json', '*.safetensors', '*vocab.txt', '*.npy')  # None runs code.


def directory(name: str) -> str:
  """Returns the directory of a name such as 'OWNER/MODEL', as transformers.

  Directories and paths are returned as given. HF_HOME, HF_ENDPOINT, HF_TOKEN
  and HF_HUB_OFFLINE count. UserError for a model that cannot be had.
  """
  if not names.HUB_MODEL.fullmatch(name) or os.path.exists(name):
    return name
  try:
    return huggingface_hub.snapshot_download(name, allow_patterns=[*_FILES])
  except (hub_errors.HTTPError, OSError, ValueError) as error:
    found = ' '.join(str(error).split()).rstrip('.')
    raise errors.UserError(
      'hf: must name a directory, or a model of the hub as OWNER/MODEL. Found '
      f'no directory {name}, and of the hub: {found:.300}. Correct the name; '
      'or copy config.json, model.safetensors and vocab.txt to a directory.'
    ) from error
