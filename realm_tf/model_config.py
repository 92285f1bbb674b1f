"""The hyperparameters of the networks: the `model` section of the config."""

import dataclasses

from realm_tf import config_checks


@dataclasses.dataclass(frozen=True)
class BertConfig:
  """A BERT encoder; the defaults are BERT-base uncased.

  Attributes:
    vocab_size: Wordpieces; 0 means "as many as the corpus's vocabulary has".
    hidden_size: H, the width of a layer.
    num_layers: Transformer layers.
    num_heads: Attention heads of a layer.
    intermediate_size: Width of the feed-forward layer.
    max_positions: Longest sequence, in wordpieces.
    initializer_range: Standard deviation of fresh weights.
    initializer: 'truncated_normal' as BERT's; 'mimetic' adds the identity where
      trained attention has it (modeling/initialization.py): an encoder without
      pre-trained weights learns to copy from a block many times sooner.
    dropout_rate: Of hidden states, in training.
    attention_dropout_rate: Of attention probabilities, in training.
    activation: 'gelu_tanh' is GELU as BERT's release computes it; 'gelu' the
      exact one, for weights that were trained with it; 'relu' is a fifth of
      GELU's work on CPU.
  """

  vocab_size: int = 0
  hidden_size: int = 768
  num_layers: int = 12
  num_heads: int = 12
  intermediate_size: int = 3072
  max_positions: int = 512
  initializer_range: float = 0.02
  initializer: str = 'truncated_normal'
  dropout_rate: float = 0.1
  attention_dropout_rate: float = 0.1
  activation: str = 'gelu_tanh'

  def __post_init__(self):
    config_checks.check_positive(
      self,
      'hidden_size',
      'num_layers',
      'num_heads',
      'intermediate_size',
      'max_positions',
      'initializer_range',
    )
    config_checks.check_not_negative(self, 'vocab_size')
    config_checks.check_rates(self, 'dropout_rate', 'attention_dropout_rate')
    config_checks.check(
      self.activation in ('gelu_tanh', 'gelu', 'relu'),
      "`activation` must be 'gelu_tanh', 'gelu' or 'relu'.",
      activation=self.activation,
    )
    config_checks.check(
      self.initializer in ('truncated_normal', 'mimetic'),
      "`initializer` must be 'truncated_normal' or 'mimetic'.",
      initializer=self.initializer,
    )
    config_checks.check(
      self.hidden_size % self.num_heads == 0,
      '`hidden_size` must be a multiple of `num_heads`.',
      hidden_size=self.hidden_size,
      num_heads=self.num_heads,
    )


@dataclasses.dataclass(frozen=True)
class EmbedderConfig:
  """How BERT's output becomes one vector (Section 3.2).

  Attributes:
    head: 'cls' is the paper's linear projection of [CLS]; 'pooled' the
      release's tanh pooler, Dense, LayerNorm and dropout; 'mean' the mean over
      wordpieces without projection, for encoders from elsewhere.
    embedding_size: D, the width of the search space; for 'mean' it is the
      encoder's hidden size, whatever stands here.
    normalize: Whether embeddings are scaled to length 1. Then f(x,z) also has a
      temperature, and the null block's a bias, both learned, from 1 and 0 on.
    score_scale: Multiplies query embeddings, hence f(x,z); above 1 for
      normalized embeddings, whose inner products are too flat for a softmax.
    shared_towers: Whether queries and blocks share one encoder.
    dropout_rate: Of the 'pooled' head, in training.
    layer_norm_epsilon: Of the 'pooled' head; 1e-3 as the release's ICT. Models
      that are imported have 1e-12, as Hugging Face's port, and so have those
      that were saved before this field was there: a job that starts from one
      sets it so.
  """

  head: str = 'cls'
  embedding_size: int = 128
  normalize: bool = False
  score_scale: float = 1.0
  shared_towers: bool = False
  dropout_rate: float = 0.1
  layer_norm_epsilon: float = 1e-3

  def __post_init__(self):
    config_checks.check_positive(
      self, 'embedding_size', 'score_scale', 'layer_norm_epsilon'
    )
    config_checks.check_rates(self, 'dropout_rate')
    config_checks.check(
      self.head in ('cls', 'pooled', 'mean'),
      "`head` must be 'cls', 'pooled' or 'mean'.",
      head=self.head,
    )


@dataclasses.dataclass(frozen=True)
class ModelConfig:
  """The networks of a REALM model.

  Attributes:
    embedder_bert: Encoder under the embedders.
    reader_bert: Encoder of the knowledge-augmented encoder and span reader.
    embedder: Head of the embedders.
    span_hidden_size: Half the width of the span reader's projection (ORQA).
    max_span_width: Longest answer, in wordpieces (ORQA).
    train_dtype: Dtype of the encoders' matmuls in training: 'float32',
      'bfloat16', or 'auto': bfloat16 where the hardware multiplies it (CPUs
      with AMX or AVX512-BF16, TPUs, GPUs since Ampere). Variables, sums,
      softmax and loss stay float32.
    recompute_activations: Whether these encoders compute a layer's activations
      once more in the backward pass instead of keeping them: a third more
      work, and the memory of one layer.
  """

  embedder_bert: BertConfig = BertConfig()
  reader_bert: BertConfig = BertConfig()
  embedder: EmbedderConfig = EmbedderConfig()
  span_hidden_size: int = 256
  max_span_width: int = 10
  train_dtype: str = 'auto'
  recompute_activations: bool = False

  def __post_init__(self):
    config_checks.check_positive(self, 'span_hidden_size', 'max_span_width')
    config_checks.check(
      self.train_dtype in ('auto', 'float32', 'bfloat16'),
      "`train_dtype` must be 'auto', 'float32' or 'bfloat16'.",
      train_dtype=self.train_dtype,
    )
