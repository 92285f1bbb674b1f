"""A T5 that answers from its weights alone (Roberts et al. 2020).

Model Garden's encoder-decoder (Raffel et al. 2020,
https://arxiv.org/abs/1910.10683) with the log-likelihood for training, and
greedy decoding in one compiled graph.
"""

from official.nlp.modeling.models import t5
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import interfaces

PREFIXES = ('t5_transformer/',)  # Variable names begin with these.
PAD_ID = 0  # Also the first input of a decoder.
_ACTIVATIONS = {'relu': ('relu',), 'gated_gelu': ('gelu', 'linear')}


class Seq2Seq(tf.Module):
  """An encoder-decoder with the sizes of `config`."""

  def __init__(self, config: config_lib.Seq2SeqConfig):
    super().__init__()
    self.config = config
    self._num_decoder_layers = config.num_decoder_layers or config.num_layers
    self._t5 = t5.T5Transformer(
      t5.T5TransformerParams(
        num_layers=config.num_layers,
        num_decoder_layers=self._num_decoder_layers,
        d_model=config.hidden_size,
        d_kv=config.head_size,
        num_heads=config.num_heads,
        d_ff=config.intermediate_size,
        vocab_size=config.vocab_size,
        dropout_rate=0.0,
        shared_embedding=True,
        relative_attention_num_buckets=config.num_buckets,
        relative_attention_max_distance=config.max_distance,
        ffn_activations=_ACTIVATIONS[config.activation],
        logits_via_embedding=config.tied_logits,
        one_hot_embedding=False,
      )
    )

  def log_likelihood(
    self, input_ids: tf.Tensor, target_ids: tf.Tensor
  ) -> tf.Tensor:
    """Returns log p(y|x), the sum over y's wordpieces, float32 [B].

    x is int32 [B, Lx]; y with </s> is int32 [B, Ly]. Zeros are padding.
    """
    logits = self.logits(input_ids, target_ids)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(target_ids, logits)
    is_token = tf.cast(target_ids != PAD_ID, losses.dtype)
    return -tf.reduce_sum(losses * is_token, axis=-1)

  def logits(self, input_ids: tf.Tensor, target_ids: tf.Tensor) -> tf.Tensor:
    """Returns the logits of each wordpiece of y, float32 [B, Ly, V]."""
    shifted = tf.pad(target_ids[:, :-1], [[0, 0], [1, 0]])
    return self._t5(
      encoder_input_tokens=input_ids,
      decoder_target_tokens=target_ids,
      decoder_input_tokens=shifted,
    )['logits']

  def greedy(
    self, input_ids: tf.Tensor, max_tokens: int, end_id: int
  ) -> tf.Tensor:
    """Decodes greedily; returns int32 [B, max_tokens], zeros after `end_id`.

    The inputs are int32 [B, Lx], padded with zeros; B must be static.
    """
    config, batch_size = self.config, input_ids.shape[0]
    shape = [batch_size, max_tokens, config.num_heads, config.head_size]
    zeros = lambda: {'key': tf.zeros(shape), 'value': tf.zeros(shape)}
    encoded = self._t5.encode(input_ids)
    is_padding = tf.cast(input_ids == PAD_ID, tf.float32)[:, None, None]
    ids = tf.fill([batch_size, 1], PAD_ID)
    is_open = tf.ones_like(ids[:, 0], tf.bool)
    found = tf.TensorArray(tf.int32, max_tokens)

    def body(i, ids, is_open, found, cache):
      # Without a mask, Model Garden also attends to empty positions after i.
      is_later = tf.cast(tf.range(max_tokens) > i, tf.float32)
      outputs = self._t5.decoder(
        ids,
        encoded,
        decoder_mask=interfaces.NO_SCORE * is_later[None, None, None],
        encoder_decoder_mask=interfaces.NO_SCORE * is_padding,
        decode=True,
        decode_position=i,
        cache=dict(enumerate(cache)),
        max_decode_len=max_tokens,
      )
      logits = outputs['logits'][:, 0]
      cache = [outputs['cache'][n] for n in range(self._num_decoder_layers)]
      best = tf.argmax(logits, axis=-1, output_type=tf.int32)
      best = tf.where(is_open, best, PAD_ID)
      is_open &= best != end_id
      return i + 1, best[:, None], is_open, found.write(i, best), cache

    _, _, _, found, _ = tf.while_loop(
      lambda i, ids, is_open, found, cache: tf.reduce_any(is_open),
      body,
      (
        0,
        ids,
        is_open,
        found,
        [zeros() for _ in range(self._num_decoder_layers)],
      ),
      maximum_iterations=max_tokens,
    )
    return tf.transpose(found.stack())
