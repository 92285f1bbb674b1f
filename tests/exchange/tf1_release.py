"""Small checkpoints with the names of the authors' TF1 release."""

import os

import numpy as np
import tensorflow as tf

from tests.exchange import small_bert

HIDDEN, WIDTH, SPAN, VOCAB, NUM_HEADS = 6, 4, 3, 12, 2
CONFIG = small_bert.CONFIG | {
  'vocab_size': VOCAB,
  'max_position_embeddings': 32,
  'hidden_act': 'gelu_new',
}
# File of the release -> prefixes of (the projection, its LayerNorm, BERT).
EMBEDDERS = {
  'hub_module': ('module/module/', 'LayerNorm', 'module/module/module/'),
  'fine_tuned': (
    'module/module/module/',
    'LayerNorm',
    'module/module/module/module/',
  ),
  'public_ict': ('', 'layer_normalization', 'module/'),
  'again': ('module_1/', 'LayerNorm', 'module_1/module/'),
}


def save(prefix: str, values: dict[str, np.ndarray]) -> str:
  """Writes a checkpoint in the format of TF1's Saver; returns its prefix."""
  os.makedirs(os.path.dirname(prefix), exist_ok=True)
  names = sorted(values)
  tf.raw_ops.SaveV2(
    prefix=prefix,
    tensor_names=names,
    shape_and_slices=[''] * len(names),
    tensors=[tf.constant(values[name]) for name in names],
  )
  return prefix


def bert(rng, prefix: str = '') -> tuple[dict, dict]:
  """Returns random weights of BERT: by Hugging Face's names, and by TF1's."""
  theirs = small_bert.random_weights(CONFIG, rng)
  return theirs, named(theirs, '', prefix)


def named(theirs, below: str, prefix: str) -> dict[str, np.ndarray]:
  """Returns BERT's weights of Hugging Face's names `below`..., by TF1's."""
  cut = {
    name.removeprefix(below): value
    for name, value in theirs.items()
    if name.startswith(below)
  }
  return {
    f'{prefix}bert/{_tf1_name(name)}': _tf1_value(name, value)
    for name, value in cut.items()
  }


def embedder(rng, kind: str = 'hub_module') -> dict[str, np.ndarray]:
  """Returns an embedder's variables, with prefixes of `EMBEDDERS`."""
  head, norm, below = EMBEDDERS[kind]
  return {
    f'{head}dense/kernel': _normal(rng, HIDDEN, WIDTH),
    f'{head}dense/bias': _normal(rng, WIDTH),
    f'{head}{norm}/gamma': _normal(rng, WIDTH),
    f'{head}{norm}/beta': _normal(rng, WIDTH),
    **bert(rng, below)[1],
  }


def masked_lm(rng) -> dict[str, np.ndarray]:
  """Returns the head of the reader's pre-training."""
  head = 'cls/predictions/'
  return {
    f'{head}transform/dense/kernel': _normal(rng, HIDDEN, HIDDEN),
    f'{head}transform/dense/bias': _normal(rng, HIDDEN),
    f'{head}transform/LayerNorm/gamma': _normal(rng, HIDDEN),
    f'{head}transform/LayerNorm/beta': _normal(rng, HIDDEN),
    f'{head}output_bias': _normal(rng, VOCAB),
  }


def qa_reader(rng) -> dict[str, np.ndarray]:
  """Returns a QA reader with optimizer slots."""
  values = {
    'reader/dense/kernel': _normal(rng, HIDDEN, 2 * SPAN),
    'reader/dense/bias': _normal(rng, 2 * SPAN),
    'reader/dense_1/kernel': _normal(rng, SPAN, 1),
    'reader/dense_1/bias': _normal(rng, 1),
    'reader/layer_normalization/gamma': _normal(rng, SPAN),
    'reader/layer_normalization/beta': _normal(rng, SPAN),
    **bert(rng, 'reader/module/')[1],
  }
  slots = {
    f'{name}/{slot}': value
    for name, value in values.items()
    for slot in ('adam_m', 'adam_v')
  }
  slots['AdamWeightDecayOptimizer/x'] = np.float32(1)
  return {**values, **slots, 'global_step': np.int64(7)}


def write_blocks(path: str, texts: list[str]) -> str:
  """Writes texts in the format of the release's blocks.tfr; returns `path`."""
  with tf.io.TFRecordWriter(path) as writer:
    for text in texts:
      writer.write(text.encode())
  return path


def _tf1_name(name: str) -> str:
  *path, last = name.replace('layer.', 'layer_').split('.')
  if path[-1].endswith('_embeddings'):
    return '/'.join(path)
  is_norm = path[-1] == 'LayerNorm'
  last = {
    'weight': 'gamma' if is_norm else 'kernel',
    'bias': 'beta' if is_norm else 'bias',
  }[last]
  return '/'.join([*path, last])


def _tf1_value(name: str, value: np.ndarray) -> np.ndarray:
  is_kernel = value.ndim == 2 and '_embeddings' not in name
  return value.T if is_kernel else value


def _normal(rng, *shape) -> np.ndarray:
  return rng.normal(size=shape).astype(np.float32)
