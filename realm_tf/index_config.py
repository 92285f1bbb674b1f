"""The hyperparameters of the block index: the `index` section of the config."""

import dataclasses

from realm_tf import config_checks

_SEARCHERS = ('auto', 'brute_force', 'device', 'scann', 'faiss')
_BACKENDS = ('auto', 'tensorflow', 'openvino')
_DTYPES = ('float32', 'bfloat16', 'float16')


@dataclasses.dataclass(frozen=True)
class IndexConfig:
  """How the block index is built and searched.

  Attributes:
    searcher: 'brute_force' (exact, in NumPy), 'device' (exact, in TensorFlow on
      the accelerators), 'scann', 'faiss' (an extra), or 'auto': 'brute_force'
      below `exact_below_blocks` blocks, ScaNN above.
    exact_below_blocks: See `searcher`.
    num_leaves: Partitions of ScaNN or faiss; 0 means about sqrt(number of
      blocks).
    soar_lambda: Spilling of ScaNN (SOAR, https://arxiv.org/abs/2404.00774): a
      block also goes into a second partition. 0 is off.
    recall_target: Share of the exact top k blocks that the search must find,
      for each k that jobs ask for. What is searched per query is then chosen by
      measuring with masked sentences; 0 leaves it to the next two fields.
    leaves_to_search_fraction: Share of the partitions visited per query; 1
      makes the search exhaustive.
    num_to_rescore: Approximate hits that are rescored exactly.
    tuning_queries: Held-out queries that recall is measured with.
    embed_batch_size: Blocks embedded at once.
    embed_backend: What embeds blocks: 'tensorflow', 'openvino' (an extra, for
      CPUs), or 'auto': OpenVINO where it is installed and no accelerator is.
    embed_dtype: Dtype of matmuls: 'float32', 'bfloat16', or 'auto'; see
      `ModelConfig.train_dtype`.
    storage_dtype: Of the embeddings on disk: 'float32', 'bfloat16', 'float16'.
    shard_blocks: Blocks of one embedding shard; what a crash can lose.
  """

  searcher: str = 'auto'
  exact_below_blocks: int = 20_000
  num_leaves: int = 0
  soar_lambda: float = 1.5
  recall_target: float = 0.95
  leaves_to_search_fraction: float = 0.1
  num_to_rescore: int = 200
  tuning_queries: int = 512
  embed_batch_size: int = 128
  embed_backend: str = 'auto'
  embed_dtype: str = 'auto'
  storage_dtype: str = 'float32'
  shard_blocks: int = 16_384

  def __post_init__(self):
    config_checks.check_positive(
      self,
      'num_to_rescore',
      'tuning_queries',
      'embed_batch_size',
      'shard_blocks',
    )
    config_checks.check(
      self.searcher in _SEARCHERS,
      f'`searcher` must be one of {", ".join(_SEARCHERS)}.',
      searcher=self.searcher,
    )
    config_checks.check(
      0 < self.leaves_to_search_fraction <= 1,
      '`leaves_to_search_fraction` must be in (0, 1].',
      leaves_to_search_fraction=self.leaves_to_search_fraction,
    )
    config_checks.check(
      0 <= self.recall_target < 1,
      '`recall_target` must be in [0, 1).',
      recall_target=self.recall_target,
    )
    config_checks.check_not_negative(self, 'soar_lambda')
    config_checks.check(
      self.embed_backend in _BACKENDS,
      f'`embed_backend` must be one of {", ".join(_BACKENDS)}.',
      embed_backend=self.embed_backend,
    )
    config_checks.check(
      self.embed_dtype in ('auto', *_DTYPES[:2]),
      "`embed_dtype` must be 'auto', 'float32' or 'bfloat16'.",
      embed_dtype=self.embed_dtype,
    )
    config_checks.check(
      self.storage_dtype in _DTYPES,
      f'`storage_dtype` must be one of {", ".join(_DTYPES)}.',
      storage_dtype=self.storage_dtype,
    )
