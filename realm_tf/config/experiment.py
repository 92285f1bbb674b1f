"""Configures a whole experiment: lengths, data and all other sections."""

import dataclasses

from realm_tf.config import fields
from realm_tf.config import jobs
from realm_tf.config import networks

# Top blocks over which an answer's probability is normalized, and from which
# training on questions takes negatives, as Karpukhin et al. 2020 do.
NUM_COMPARED = 100
_SHOWN = 10  # Blocks shown to people.


@dataclasses.dataclass(frozen=True)
class LengthConfig(fields.Config):
  """Longest sequences, in wordpieces (Section 4)."""

  query_tokens: int = 96  # [CLS] x [SEP], for embedding.
  block_tokens: int = 288  # [CLS] title [SEP] body [SEP], for embedding.
  joint_tokens: int = 384  # [CLS] x [SEP] body [SEP], for reading.
  # Read questions and titles count without special tokens, and are cut.
  question_tokens: int = fields.size(30)
  title_tokens: int = fields.positive(32)
  max_masked: int = fields.positive(10)  # M, masked wordpieces of a query.
  # Whether a block too long to embed, or to read with the longest query, is cut
  # with a warning; otherwise the corpus is refused.
  cut_blocks: bool = False

  @property
  def searched_tokens(self) -> int:
    """Wordpieces that the search gets of a question; the reader gets fewer."""
    return max(self.question_tokens, self.query_tokens - 2)

  def check_together(self) -> None:
    fields.check(
      self.title_tokens + 3 < self.block_tokens,
      '`title_tokens` + 3 must be below `block_tokens`.',
      title_tokens=self.title_tokens,
      block_tokens=self.block_tokens,
    )
    fields.check(
      self.query_tokens + 1 < self.joint_tokens,
      '`query_tokens` + 1 must be below `joint_tokens`.',
      query_tokens=self.query_tokens,
      joint_tokens=self.joint_tokens,
    )


@dataclasses.dataclass(frozen=True)
class IndexConfig(fields.Config):
  """Settings to build and search the block index.

  Attributes:
    searcher: 'brute_force' (exact, in NumPy), 'device' (exact, in TensorFlow on
      the first GPU; trainers search on all their accelerators), 'scann',
      'milvus' (an extra, on a server), or 'auto': 'brute_force' below
      `exact_below_blocks` blocks, 'scann' above; trainers search on their
      accelerators if two versions take at most 1 GiB of each.
    uri: Milvus server or cluster, e.g. 'http://HOST:19530'; or a file 'NAME.db'
      of milvus-lite, which runs in the process.
    num_leaves: Partitions of an approximate searcher; 0 means about
      sqrt(number of blocks).
    recall_target: Share of the exact top k blocks to find, for each k that jobs
      search for. The effort is tuned on masked sentences; with 0 it is a tenth
      of the partitions, and 200 approximate hits that are rescored exactly.
    embed_backend: Library that embeds blocks, and reads them for answers:
      'tensorflow', 'openvino' (an extra, for CPUs), or 'auto': OpenVINO if it
      is installed and there is no accelerator.
    embed_dtype: Dtype of matmuls. 'auto' is as in `ModelConfig.train_dtype`.
    storage_dtype: Dtype of the embeddings on disk.
    shard_blocks: Blocks per embedding shard; a crash loses at most one shard.
  """

  searcher: str = fields.one_of(
    'auto', 'brute_force', 'device', 'scann', 'milvus'
  )
  uri: str = ''
  exact_below_blocks: int = 20_000
  num_leaves: int = 0
  recall_target: float = fields.below_one(0.95)
  embed_backend: str = fields.one_of('auto', 'tensorflow', 'openvino')
  embed_dtype: str = fields.one_of('auto', 'float32', 'bfloat16')
  storage_dtype: str = fields.one_of('float32', 'bfloat16', 'float16')
  shard_blocks: int = fields.positive(16_384)


@dataclasses.dataclass(frozen=True)
class HeldOutConfig(fields.Config):
  """Sentences that measure pre-training and ICT, but never train."""

  # Share of the articles with such sentences; their blocks stay in the corpus.
  # The paper holds out none.
  share: float = fields.below_one(0.0)
  num_queries: int = fields.not_negative(256)  # At most; 0 measures none.


@dataclasses.dataclass(frozen=True)
class ExperimentConfig(fields.Config):
  """The whole configuration, which a launch module defines."""

  seed: int = 0
  model: networks.ModelConfig = networks.ModelConfig()
  lengths: LengthConfig = LengthConfig()
  index: IndexConfig = IndexConfig()
  inverse_cloze: jobs.InverseClozeConfig = jobs.InverseClozeConfig()
  pretraining: jobs.PretrainingConfig = jobs.PretrainingConfig()
  finetuning: jobs.FinetuningConfig = jobs.FinetuningConfig()
  tagger: jobs.TaggerConfig = jobs.TaggerConfig()
  closed_book: jobs.ClosedBookConfig = jobs.ClosedBookConfig()
  path: jobs.PathConfig = jobs.PathConfig()
  held_out: HeldOutConfig = HeldOutConfig()

  def searched_ks(self, num_blocks: int) -> list[int]:
    """Returns every number of blocks that a job may search for, ascending."""
    candidates, searched = (
      self.pretraining.num_candidates,
      self.finetuning.num_searched,
    )
    ks = (_SHOWN, NUM_COMPARED, candidates, searched)
    return sorted({min(k, num_blocks) for k in ks})
