"""Configures how the block index is built and searched."""

import dataclasses

from realm_tf.config import fields


@dataclasses.dataclass(frozen=True)
class IndexConfig(fields.Config):
  """How the block index is built and searched.

  Attributes:
    searcher: 'brute_force' (exact, in NumPy), 'device' (exact, in TensorFlow on
      the accelerators), 'scann', 'faiss' (an extra), 'milvus' (an extra, on a
      server), or 'auto': 'brute_force' below `exact_below_blocks` blocks, ScaNN
      above.
    uri: Milvus server or cluster, as 'http://HOST:19530'; or a file 'NAME.db'
      of milvus-lite, which runs in the process.
    num_leaves: Partitions of an approximate searcher; 0 means about
      sqrt(number of blocks).
    soar_lambda: Spilling of ScaNN (SOAR, https://arxiv.org/abs/2404.00774): a
      block also goes into a second partition. 0 is off.
    recall_target: Share of the exact top k blocks that the search must find,
      for each k that jobs ask for. Masked sentences measure how much must be
      searched for that; 0 leaves it to the next two fields.
    leaves_to_search_fraction: Share of the partitions visited per query; 1
      makes the search exhaustive.
    num_to_rescore: Approximate hits that are rescored exactly.
    vectors: Where ScaNN and faiss keep the vectors that rescore: in 'memory',
      or on 'disk', for indexes larger than memory.
    tuning_queries: Held-out queries that measure recall.
    embed_batch_size: Blocks embedded at once.
    embed_backend: What embeds blocks, and reads them to answer: 'tensorflow',
      'openvino' (an extra, for CPUs), or 'auto': OpenVINO if it is installed
      and there is no accelerator.
    embed_dtype: Dtype of matmuls; see `ModelConfig.train_dtype`.
    storage_dtype: Dtype of the embeddings on disk.
    shard_blocks: Blocks of one embedding shard: the most a crash can lose.
  """

  searcher: str = fields.one_of(
    'auto', 'brute_force', 'device', 'scann', 'faiss', 'milvus'
  )
  uri: str = ''
  exact_below_blocks: int = 20_000
  num_leaves: int = 0
  soar_lambda: float = fields.not_negative(1.5)
  recall_target: float = fields.below_one(0.95)
  leaves_to_search_fraction: float = fields.bounded(
    0.1, 'be in (0, 1]', lambda value: 0 < value <= 1
  )
  num_to_rescore: int = fields.positive(200)
  vectors: str = fields.one_of('memory', 'disk')
  tuning_queries: int = fields.positive(512)
  embed_batch_size: int = fields.positive(128)
  embed_backend: str = fields.one_of('auto', 'tensorflow', 'openvino')
  embed_dtype: str = fields.one_of('auto', 'float32', 'bfloat16')
  storage_dtype: str = fields.one_of('float32', 'bfloat16', 'float16')
  shard_blocks: int = fields.positive(16_384)
