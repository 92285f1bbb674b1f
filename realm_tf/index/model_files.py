"""What of a model directory is read wherever a model meets a corpus.

model directory, corpus's manifest -> [this file] -> tokenizer, parameters
"""

from typing import Any

import numpy as np

from realm_tf.modeling import weights
from realm_tf.rundir import layout
from realm_tf.rundir import model_directory
from realm_tf.rundir import versions
from realm_tf.text import wordpiece


def open_tokenizer(
  model_dir: str, corpus_manifest: dict[str, Any]
) -> wordpiece.WordpieceTokenizer:
  """Returns the tokenizer of a model that is to read a corpus.

  Args:
    model_dir: With a vocabulary.
    corpus_manifest: Of the corpus.

  Raises:
    UserError: They have different vocabularies.
  """
  tokenizer = wordpiece.WordpieceTokenizer.from_file(
    layout.vocab_file(model_dir)
  )
  model_directory.check_vocabulary(
    model_dir, tokenizer.vocabulary_sha256, corpus_manifest
  )
  return tokenizer


def read_params(params: versions.Version) -> dict[str, np.ndarray]:
  """Reads a version of parameters; UserError if they are damaged."""
  versions.verify(params.path)
  return weights.read(layout.params_file(params.path))
