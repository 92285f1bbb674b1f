"""Makes model directories, to which jobs add parameters."""

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.config import config_files
from realm_tf.run import layout
from realm_tf.text import tokenizer_files


def create(
  path: str, config: config_lib.ExperimentConfig, vocab_file: str
) -> None:
  """Writes or replaces config.json, and a vocabulary or a T5's pieces."""
  tf.io.gfile.makedirs(path)
  config_files.write(config, path)
  if vocab_file.endswith('.model'):
    tf.io.gfile.copy(
      vocab_file, layout.sentencepiece_file(path), overwrite=True
    )
  else:
    tokenizer_files.copy(vocab_file, path)
