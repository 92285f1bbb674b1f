"""Embeds blocks and searches, on one device and on four, for a test.

  python -m tests.retrieval.four_devices FILE.npz

It needs its own process: only before TensorFlow starts can the CPU be split.
"""

import sys
import tempfile
from unittest import mock

import numpy as np
import tensorflow as tf

from realm_tf.model import strategies

strategies.split_cpu(4)

# pylint: disable=wrong-import-position
from realm_tf import interfaces  # noqa: E402
from realm_tf.index import embedding  # noqa: E402
from realm_tf.index import exact_search  # noqa: E402
from realm_tf.model import precision  # noqa: E402
from realm_tf.model import realm_model  # noqa: E402
from realm_tf.model import weights  # noqa: E402
from realm_tf.retrieval import device_retriever  # noqa: E402
from tests import forks  # noqa: E402
from tests import tiny  # noqa: E402
from tests.index import small  # noqa: E402

_NUM_BLOCKS, _K = 300, 7


def _embed(strategy):
  """Returns embeddings of blocks by one device, and by a strategy's."""
  model = small.model()
  with strategy.scope():
    copy = realm_model.RealmModel(small.CONFIG.model, [realm_model.EMBEDDER])
  copy.load(weights.values(model.variables))
  embed = embedding.compile_blocks(copy, small.SPECIAL_IDS, strategy=strategy)
  with tempfile.TemporaryDirectory() as directory:
    table = small.open_corpus(directory, (2, 60, 1, 13, 30, 13, 7, 36, 20))
    one, ids = small.embed_all(table, model), np.arange(table.num_blocks)
    lengths = small.CONFIG.lengths
    # Batches of 3 and more cannot be split evenly.
    four = embedding.embed_blocks(embed, table, ids, lengths, batch_size=3)
  return {'one': one, 'four': four}


def main(path: str):
  rng = np.random.default_rng(0)
  # Few different blocks: many of them have equal scores.
  embeddings = rng.integers(-2, 3, [_NUM_BLOCKS, 4]).astype(np.float32)
  query_ids = rng.integers(5, 20, [8, 6]).astype(np.int32)
  query_ids[3:, 4:] = 0
  queries = interfaces.Queries(query_ids, list)
  results = {}
  with tempfile.TemporaryDirectory() as root:
    version, _ = small.complete(root, 0, embeddings)
    for number, strategy in (
      (1, tf.distribute.get_strategy()),
      (4, strategies.create('mirrored')),
    ):
      for searcher in ('device', 'brute_force'):
        retriever = device_retriever.DeviceRetriever(
          strategy,
          tiny.changed(small.CONFIG, index={'searcher': searcher}),
          small.SPECIAL_IDS,
          _NUM_BLOCKS,
        )
        retriever.load(version.path, small.FINGERPRINT)
        results[f'{number} {searcher}'] = retriever.retrieve(queries, _K)
    with mock.patch.object(precision, 'has_tpu', lambda: True):
      retriever = device_retriever.DeviceRetriever(
        strategy, small.CONFIG, small.SPECIAL_IDS, _NUM_BLOCKS
      )
    retriever.load(version.path, small.FINGERPRINT)
    results['spread'] = retriever.retrieve(queries, _K)
  embed = embedding.compile_queries(
    small.indexed_model(), small.CONFIG.lengths.query_tokens, small.SPECIAL_IDS
  )
  exact = exact_search.BruteForceSearcher(embeddings)
  results['host'] = exact.search(embed(query_ids), _K)
  cases = {case: found._asdict() for case, found in results.items()}
  cases['blocks'] = {'embeddings': embeddings, **_embed(strategy)}
  forks.write(path, cases)


if __name__ == '__main__':
  main(sys.argv[1])
