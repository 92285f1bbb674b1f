"""Configures the networks: encoders, embedders, reader, encoder-decoder."""

import dataclasses

from realm_tf.config import fields


@dataclasses.dataclass(frozen=True)
class BertConfig(fields.Config):
  """A BERT encoder; the defaults are BERT-base uncased.

  Attributes:
    vocab_size: Wordpieces; 0 means the size of the corpus's vocabulary.
    hidden_size: H, the width of a layer.
    intermediate_size: Width of the feed-forward layer.
    max_positions: Longest sequence, in wordpieces.
    initializer_range: Standard deviation of fresh weights.
    initializer: 'truncated_normal' as BERT's; 'mimetic' adds the identity where
      trained attention has it (modeling/initialization.py): an encoder without
      pre-trained weights learns to copy from a block many times sooner.
    dropout_rate: Dropout of hidden states, in training.
    attention_dropout_rate: Dropout of attention probabilities, in training.
    activation: 'gelu_tanh' is GELU as BERT's release computes it; 'gelu' the
      exact one, for weights that were trained with it; 'relu' is a fifth of
      GELU's work on CPU.
  """

  vocab_size: int = fields.not_negative(0)
  hidden_size: int = fields.positive(768)
  num_layers: int = fields.positive(12)
  num_heads: int = fields.positive(12)
  intermediate_size: int = fields.positive(3072)
  max_positions: int = fields.positive(512)
  initializer_range: float = fields.positive(0.02)
  initializer: str = fields.one_of('truncated_normal', 'mimetic')
  dropout_rate: float = fields.rate(0.1)
  attention_dropout_rate: float = fields.rate(0.1)
  activation: str = fields.one_of('gelu_tanh', 'gelu', 'relu')

  def check_together(self) -> None:
    fields.check(
      self.hidden_size % self.num_heads == 0,
      '`hidden_size` must be a multiple of `num_heads`.',
      hidden_size=self.hidden_size,
      num_heads=self.num_heads,
    )


@dataclasses.dataclass(frozen=True)
class EmbedderConfig(fields.Config):
  """How BERT's output becomes one vector (Section 3.2).

  Attributes:
    head: 'cls' is the paper's linear projection of [CLS]; 'pooled' the
      release's tanh pooler, Dense, LayerNorm and dropout. Encoders from
      elsewhere have the 'mean' or the 'max' over wordpieces, or the 'first',
      [CLS] itself.
    dense: Projection with bias behind 'mean', 'max' and 'first', and its
      activation; ignored by the other heads.
    embedding_size: D, the width of the search space; without projection it is
      the encoder's hidden size instead.
    normalize: Scales embeddings to length 1. Then f(x,z) also has a
      temperature, and the null block's a bias, both learned, from 1 and 0 on.
    score_scale: Multiplies query embeddings, hence f(x,z); above 1 for
      normalized embeddings, whose inner products are too flat for a softmax.
    shared_towers: Whether queries and blocks share one encoder.
    dropout_rate: Dropout of the 'pooled' head, in training.
    query_prompt: Wordpieces behind [CLS] of each query, as ids with spaces
      between them, where the encoder was trained so. They come on top of
      `LengthConfig.query_tokens`.
    block_prompt: Wordpieces behind [CLS] of each block.
    layer_norm_epsilon: Epsilon of the 'pooled' head; 1e-3 as the release's ICT.
      Models imported from Hugging Face have 1e-12.
  """

  head: str = fields.one_of('cls', 'pooled', 'mean', 'max', 'first')
  dense: str = fields.one_of('none', 'identity', 'tanh')
  embedding_size: int = fields.positive(128)
  normalize: bool = False
  score_scale: float = fields.positive(1.0)
  shared_towers: bool = False
  dropout_rate: float = fields.rate(0.1)
  query_prompt: str = fields.ids()
  block_prompt: str = fields.ids()
  layer_norm_epsilon: float = fields.positive(1e-3)

  @property
  def reads_all(self) -> bool:
    """Whether the head reads all positions, not only [CLS]."""
    return self.head in ('mean', 'max')

  @property
  def has_projection(self) -> bool:
    return self.head in ('cls', 'pooled') or self.dense != 'none'

  def width(self, hidden_size: int) -> int:
    """Returns D for an encoder of this hidden size."""
    return self.embedding_size if self.has_projection else hidden_size


@dataclasses.dataclass(frozen=True)
class Seq2SeqConfig(fields.Config):
  """A T5, Raffel et al. 2020; the defaults are v1.0's small one.

  It has no dropout, as v1.1's pre-training.

  Attributes:
    vocab_size: Wordpieces; 0 means the size of the corpus's vocabulary.
    hidden_size: Width of a layer.
    head_size: Width of an attention head.
    num_decoder_layers: Layers of the decoder; 0 means as many as `num_layers`.
    intermediate_size: Width of the feed-forward layer.
    activation: 'relu', or 'gated_gelu' as in v1.1.
    tied_logits: Whether the embeddings also give the logits, as in v1.0.
    num_buckets: Relative positions that attention tells apart.
    max_distance: From this relative position on all are one.
  """

  vocab_size: int = fields.not_negative(0)
  hidden_size: int = fields.positive(512)
  head_size: int = fields.positive(64)
  num_layers: int = fields.positive(6)
  num_decoder_layers: int = fields.not_negative(0)
  num_heads: int = fields.positive(8)
  intermediate_size: int = fields.positive(2048)
  activation: str = fields.one_of('relu', 'gated_gelu')
  tied_logits: bool = True
  num_buckets: int = fields.positive(32)
  max_distance: int = fields.positive(128)


@dataclasses.dataclass(frozen=True)
class ModelConfig(fields.Config):
  """The networks of a REALM model.

  Attributes:
    embedder_bert: Encoder under the embedders.
    reader_bert: Encoder of the knowledge-augmented encoder and span reader.
    embedder: Head of the embedders.
    span_hidden_size: Half the width of the span reader's projection (ORQA).
    max_span_width: Longest answer, in wordpieces (ORQA).
    seq2seq: Encoder-decoder that answers closed book.
    train_dtype: Dtype of the encoders' matmuls in training. 'auto' is bfloat16
      where the hardware multiplies it (CPUs with AMX or AVX512-BF16, TPUs, GPUs
      since Ampere). Variables, sums, softmax and loss stay float32.
    recompute_activations: Computes a layer's activations again in the backward
      pass instead of keeping them: a third more work, and the memory of one
      layer.
  """

  embedder_bert: BertConfig = BertConfig()
  reader_bert: BertConfig = BertConfig()
  embedder: EmbedderConfig = EmbedderConfig()
  span_hidden_size: int = fields.positive(256)
  max_span_width: int = fields.positive(10)
  seq2seq: Seq2SeqConfig = Seq2SeqConfig()
  train_dtype: str = fields.one_of('auto', 'float32', 'bfloat16')
  recompute_activations: bool = False
