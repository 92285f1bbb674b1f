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
    initializer_range: Standard deviation of initial weights.
    initializer: 'truncated_normal', as BERT's; 'mimetic' adds the identity, as
      in trained attention (model/bert.py). An encoder without
      pre-trained weights then learns to copy from a block many times sooner.
    dropout_rate: Dropout of hidden states.
    attention_dropout_rate: Dropout of attention probabilities.
    activation: 'gelu_tanh' is the approximate GELU of BERT's release; 'gelu' is
      exact, for weights trained with it; 'relu' costs a fifth of GELU on CPU.
  """

  vocab_size: int = fields.size(0, at_least=0)
  hidden_size: int = fields.size(768)
  num_layers: int = fields.size(12)
  num_heads: int = fields.size(12)
  intermediate_size: int = fields.size(3072)
  max_positions: int = fields.size(512)
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
  """Head that makes one vector of BERT's output (Section 3.2).

  Attributes:
    head: 'cls', the paper's linear projection of [CLS]; 'pooled', the release's
      tanh pooler, Dense, LayerNorm and dropout; 'mean' or 'max' over wordpieces
      or 'first', [CLS] itself, for imported encoders.
    dense: Activation of a projection with bias after 'mean', 'max' or 'first';
      'none' is no projection.
    embedding_size: D; without projection D is the encoder's hidden size.
    normalize: Whether embeddings have length 1. f(x,z) then has a learned
      temperature, initially 1, and the null block a learned bias, initially 0.
    score_scale: Factor of query embeddings, hence of f(x,z). Normalized
      embeddings need more than 1: their softmax is too flat.
    shared_towers: Whether queries and blocks share one encoder.
    dropout_rate: Dropout of the 'pooled' head.
    query_prompt: Wordpiece ids after each query's [CLS], separated by spaces,
      for encoders trained with them. `LengthConfig.query_tokens` excludes them.
    block_prompt: As `query_prompt`, after each block's [CLS].
    layer_norm_epsilon: Epsilon of the 'pooled' head; 1e-3 in the release's ICT,
      1e-12 in models imported from Hugging Face.
  """

  head: str = fields.one_of('cls', 'pooled', 'mean', 'max', 'first')
  dense: str = fields.one_of('none', 'identity', 'tanh')
  embedding_size: int = fields.size(128)
  normalize: bool = False
  score_scale: float = fields.positive(1.0)
  shared_towers: bool = False
  dropout_rate: float = fields.rate(0.1)
  query_prompt: str = fields.ids()
  block_prompt: str = fields.ids()
  layer_norm_epsilon: float = fields.positive(1e-3)

  @property
  def reads_all(self) -> bool:
    """Whether the head reads all positions instead of only [CLS]."""
    return self.head in ('mean', 'max')

  @property
  def has_projection(self) -> bool:
    return self.head in ('cls', 'pooled') or self.dense != 'none'


@dataclasses.dataclass(frozen=True)
class Seq2SeqConfig(fields.Config):
  """A T5 (Raffel et al. 2020) without dropout; defaults are T5 v1.0 small."""

  vocab_size: int = fields.size(0, at_least=0)  # 0: as the corpus's vocabulary.
  hidden_size: int = fields.size(512)  # Width of a layer.
  head_size: int = fields.size(64)  # Width of an attention head.
  num_layers: int = fields.size(6)
  num_decoder_layers: int = fields.size(0, at_least=0)  # 0: `num_layers`.
  num_heads: int = fields.size(8)
  intermediate_size: int = fields.size(2048)  # Feed-forward width.
  activation: str = fields.one_of('relu', 'gated_gelu')  # v1.1: the latter.
  tied_logits: bool = True  # Whether embeddings give the logits, as in v1.0.
  num_buckets: int = fields.size(32)  # For relative positions.
  max_distance: int = fields.positive(128)  # Farther positions are one bucket.


@dataclasses.dataclass(frozen=True)
class ModelConfig(fields.Config):
  """The networks of a REALM model.

  Attributes:
    embedder_bert: Encoder under the embedders.
    reader_bert: Encoder of the knowledge-augmented encoder and span reader.
    span_head: 'mlp' is the span reader of REALM and ORQA; 'linear' adds a start
      and an end logit, as BERT's readers of SQuAD 1.1 do. 'linear_null' also
      has a null span, [CLS]'s two logits, as readers of SQuAD 2.0: it gives
      log p(y|z,x), normalized for each block.
    span_hidden_size: Half the width of the 'mlp' head's projection (ORQA).
    max_span_width: Longest answer, in wordpieces (ORQA).
    seq2seq: Encoder-decoder that answers closed book.
    train_dtype: Dtype of the encoders' matmuls in training. 'auto' is bfloat16
      where it is faster (CPUs with AMX, AMD's with AVX512-BF16, TPUs, GPUs
      since Ampere). Variables, sums, softmax and loss stay float32.
    recompute_activations: Whether the backward pass computes activations again:
      a third more work, but the memory of only one layer.
  """

  embedder_bert: BertConfig = BertConfig()
  reader_bert: BertConfig = BertConfig()
  embedder: EmbedderConfig = EmbedderConfig()
  span_head: str = fields.one_of('mlp', 'linear', 'linear_null')
  span_hidden_size: int = fields.size(256)
  max_span_width: int = fields.size(10)
  seq2seq: Seq2SeqConfig = Seq2SeqConfig()
  train_dtype: str = fields.one_of('auto', 'float32', 'bfloat16')
  recompute_activations: bool = False

  @property
  def embedding_width(self) -> int:
    """D, the width of an embedding."""
    if self.embedder.has_projection:
      return self.embedder.embedding_size
    return self.embedder_bert.hidden_size
