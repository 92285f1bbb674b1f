"""The benchmarks' BERT encoders, their FLOP and the machine's peak FLOP."""

import time

from realm_tf import config as config_lib

VOCAB_SIZE = 30_522
FIRST_WORD = 1000  # Smaller ids are special or single characters.
SPECIAL_IDS = (101, 102)  # [CLS] and [SEP] of BERT's vocabularies.
_HEAD_WIDTH = {128: 64, 384: 32, 768: 64}  # The released small BERTs' widths.


def bert(size: str = '2x128') -> config_lib.BertConfig:
  """Returns the encoder of size 'LAYERSxWIDTH'."""
  layers, width = map(int, size.split('x'))
  return config_lib.BertConfig(
    vocab_size=VOCAB_SIZE,
    hidden_size=width,
    num_layers=layers,
    num_heads=width // _HEAD_WIDTH[width],
    intermediate_size=4 * width,
  )


def products(size: str, length, read: int = 1):
  """Returns the multiplications of a text's forward pass.

  Args:
    length: Wordpieces of the text; a number or an array.
    read: Positions that the last layer computes; the others give key and value.
  """
  layers, width = map(int, size.split('x'))
  # Query, key, value, output: 4; feed-forward: 8 widths; attention.
  whole = length * (12 * width**2 + 2 * length * width)
  last = length * 2 * width**2 + read * (10 * width**2 + 2 * length * width)
  return (layers - 1) * whole + last


def peak_flops(dtype: str) -> float:
  """Returns the FLOP per second of this machine's fastest matmul."""
  import tensorflow as tf

  matrix = tf.cast(tf.random.normal([2048, 2048]), dtype)
  best = float('inf')
  for _ in range(5):
    begun = time.monotonic()
    tf.linalg.matmul(matrix, matrix)[0, 0].numpy()
    best = min(best, time.monotonic() - begun)
  return 2 * 2048**3 / best
