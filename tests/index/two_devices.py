"""A program that embeds blocks on one device and on two, and compares.

Devices must be made before TensorFlow starts, which needs a new process. The
output is JSON: replicas, shape of the embeddings, largest value on one device,
and largest difference.
"""

import json
import sys
import tempfile

import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
  tf.config.list_physical_devices('CPU')[0],
  [tf.config.LogicalDeviceConfiguration()] * 2,
)

# pylint: disable=wrong-import-position
from realm_tf.index import embedding  # noqa: E402
from realm_tf.model import realm_model  # noqa: E402
from realm_tf.model import weights  # noqa: E402
from tests.index import small  # noqa: E402

_BODY_LENGTHS = (2, 60, 1, 13, 30, 13, 7, 36, 20)
_BATCH_SIZE = 3  # Cannot be split evenly.


def _embed(table, arrays, strategy):
  with strategy.scope() if strategy else tf.device('CPU:0'):
    model = realm_model.RealmModel(small.CONFIG.model, [realm_model.EMBEDDER])
  model.load(arrays)
  return embedding.embed_blocks(
    embedding.compile_blocks(model, small.SPECIAL_IDS, strategy=strategy),
    table,
    np.arange(len(_BODY_LENGTHS)),
    small.CONFIG.lengths,
    batch_size=_BATCH_SIZE,
  )


def main():
  strategy = tf.distribute.MirroredStrategy(['CPU:0', 'CPU:1'])
  with tempfile.TemporaryDirectory() as directory:
    table = small.open_corpus(directory, _BODY_LENGTHS)
    variables = weights.by_name(small.model().variables)
    arrays = {name: value.numpy() for name, value in variables.items()}
    one, two = (_embed(table, arrays, s) for s in (None, strategy))
  report = {
    'replicas': strategy.num_replicas_in_sync,
    'shape': two.shape,
    'size': float(np.abs(one).max()),
    'difference': float(np.abs(one - two).max()),
  }
  sys.stdout.write(json.dumps(report))


if __name__ == '__main__':
  main()
