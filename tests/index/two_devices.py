"""Embeds blocks on one device and on two, for a test.

  python -m tests.index.two_devices FILE.npz

It needs its own process: only before TensorFlow starts can the CPU be split.
"""

import sys
import tempfile

import numpy as np

from realm_tf.model import strategies

strategies.split_cpu(2)

# pylint: disable=wrong-import-position
from realm_tf.index import embedding  # noqa: E402
from realm_tf.model import realm_model  # noqa: E402
from realm_tf.model import weights  # noqa: E402
from tests import forks  # noqa: E402
from tests.index import small  # noqa: E402

_BODY_LENGTHS = (2, 60, 1, 13, 30, 13, 7, 36, 20)


def main(path: str):
  strategy = strategies.create('mirrored')
  model = small.model()
  with strategy.scope():
    copy = realm_model.RealmModel(small.CONFIG.model, [realm_model.EMBEDDER])
  copy.load(weights.values(model.variables))
  with tempfile.TemporaryDirectory() as directory:
    table = small.open_corpus(directory, _BODY_LENGTHS)
    one = small.embed_all(table, model)
    two = embedding.embed_blocks(
      embedding.compile_blocks(copy, small.SPECIAL_IDS, strategy=strategy),
      table,
      np.arange(len(_BODY_LENGTHS)),
      small.CONFIG.lengths,
      batch_size=3,  # Cannot be split evenly.
    )
  replicas = np.array(strategy.num_replicas_in_sync)
  results = {'one': one, 'two': two, 'replicas': replicas}
  forks.write(path, {'embeddings': results})


if __name__ == '__main__':
  main(sys.argv[1])
