"""A model's encoder -> a Hugging Face directory, the inverse of the importer.

  model directory -> config.json, model.safetensors, vocab.txt

transformers opens it as a BertModel, which has no place for some heads (a
projection, the span reader): these are left out and listed. An embedder that
takes the mean over wordpieces is whole for sentence-transformers.
"""

from collections.abc import Mapping
import json
import os
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.importing import hugging_face_names
from realm_tf.index import model_files
from realm_tf.modeling import weights
from realm_tf.rundir import layout

TOWERS = ('query', 'block', 'reader')
_ACTIVATIONS = {'gelu_tanh': 'gelu_new', 'gelu': 'gelu', 'relu': 'relu'}
_HEADS = {
  'query': ('query_embedder/', 'shared_embedder/'),
  'block': ('block_embedder/', 'shared_embedder/'),
  'reader': ('masked_lm/', 'span_reader/'),
}


def export(model_dir: str, tower: str, output_dir: str) -> list[str]:
  """Writes the directory.

  Args:
    model_dir: Directory of a training job or an import.
    tower: One of `TOWERS`.
    output_dir: Directory to make; files that are there are replaced.

  Returns:
    Names of the tower's weights that BertModel has no place for.

  Raises:
    UserError: The model directory has no such encoder.
  """
  directory, _, arrays = model_files.read(model_dir)
  model = directory.config.model
  bert = model.reader_bert if tower == 'reader' else model.embedder_bert
  theirs = _encoder(
    arrays, bert, tower, layout.params_file(directory.params.path)
  )
  tf.io.gfile.makedirs(output_dir)
  weights.write_arrays(
    theirs,
    os.path.join(output_dir, 'model.safetensors'),
    {'format': 'pt'},  # transformers requires it.
  )
  _write_json(
    os.path.join(output_dir, 'config.json'), _bert_config(bert, theirs)
  )
  tf.io.gfile.copy(
    layout.vocab_file(model_dir), layout.vocab_file(output_dir), overwrite=True
  )
  if tower != 'reader' and model.embedder.head == 'mean':
    _write_pooling(output_dir, bert.hidden_size, model.embedder.normalize)
  return sorted(name for name in arrays if name.startswith(_HEADS[tower]))


def _encoder(arrays, bert, tower, source):
  """Returns the weights of the tower, or of the tower that both share."""
  for name in (tower, 'shared') if tower != 'reader' else (tower,):
    theirs = hugging_face_names.invert(arrays, bert, name)
    if theirs:
      return theirs
  raise errors.UserError(
    f'--model_dir must hold the encoder of --tower={tower}. Found none '
    f'in {source}. Choose another --tower.'
  )


def _bert_config(
  bert: config_lib.BertConfig, theirs: Mapping[str, np.ndarray]
) -> dict[str, Any]:
  """Returns config.json of a BertModel."""
  return {
    'architectures': ['BertModel'],
    'model_type': 'bert',
    'vocab_size': len(theirs['embeddings.word_embeddings.weight']),
    'hidden_size': bert.hidden_size,
    'num_hidden_layers': bert.num_layers,
    'num_attention_heads': bert.num_heads,
    'intermediate_size': bert.intermediate_size,
    'max_position_embeddings': bert.max_positions,
    'type_vocab_size': 2,
    'hidden_act': _ACTIVATIONS[bert.activation],
    'hidden_dropout_prob': bert.dropout_rate,
    'attention_probs_dropout_prob': bert.attention_dropout_rate,
    'initializer_range': bert.initializer_range,
    'layer_norm_eps': 1e-12,
    'pad_token_id': 0,
    'torch_dtype': 'float32',
  }


def _write_pooling(output_dir, hidden_size, normalize):
  """Tells sentence-transformers that the mean is the embedding."""
  kinds = ['', '1_Pooling'] + ['2_Normalize'] * normalize
  classes = ['Transformer', 'Pooling', 'Normalize']
  _write_json(
    os.path.join(output_dir, 'modules.json'),
    [
      {
        'idx': i,
        'name': str(i),
        'path': path,
        'type': f'sentence_transformers.models.{classes[i]}',
      }
      for i, path in enumerate(kinds)
    ],
  )
  for path in kinds[1:]:
    tf.io.gfile.makedirs(os.path.join(output_dir, path))
  _write_json(
    os.path.join(output_dir, '1_Pooling', 'config.json'),
    {'word_embedding_dimension': hidden_size, 'pooling_mode_mean_tokens': True},
  )


def _write_json(path, value):
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write(json.dumps(value, indent=2) + '\n')
