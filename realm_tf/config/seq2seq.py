"""Configures the encoder-decoder that answers closed book."""

import dataclasses

from realm_tf.config import fields


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
