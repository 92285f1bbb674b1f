"""A T5 that answers from its weights alone (Roberts et al. 2020).

  wordpieces of x -> encoder -> decoder, one wordpiece after the other -> y

Model Garden's encoder-decoder (Raffel et al. 2020, https://arxiv.org/abs/
1910.10683), with the log-likelihood to train it by, and greedy and beam
decoding in one compiled graph.
"""

from collections.abc import Iterator
from typing import NamedTuple

from official.nlp.modeling.models import t5
from official.nlp.modeling.ops import beam_search
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.objectives import exclusion

PREFIXES = ('t5_transformer/',)  # Of the variables' names.
PAD_ID = 0  # Also what a decoder begins with.
_ACTIVATIONS = {'relu': ('relu',), 'gated_gelu': ('gelu', 'linear')}


class Named(NamedTuple):
  """A variable by its name in Hugging Face's T5.

  Attributes:
    is_transposed: Whether that is its transpose, as torch's matrices are.
  """

  name: str
  variable: tf.Variable
  is_transposed: bool


class Seq2Seq(tf.Module):
  """An encoder-decoder.

  Attributes:
    config: Its sizes.
  """

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
    self, input_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
  ) -> tf.Tensor:
    """Returns log p(y|x), the sum over y's wordpieces.

    Args:
      input_ids: x, int32 [B, Lx], zeros behind it.
      target_ids: y with its end, int32 [B, Ly], zeros behind it.

    Returns:
      float32 [B].
    """
    logits = self.logits(input_ids, target_ids, training)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(target_ids, logits)
    is_token = tf.cast(target_ids != PAD_ID, losses.dtype)
    return -tf.reduce_sum(losses * is_token, axis=-1)

  def logits(
    self, input_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
  ) -> tf.Tensor:
    """Returns the logits of each wordpiece of y, float32 [B, Ly, V]."""
    shifted = tf.pad(target_ids[:, :-1], [[0, 0], [1, 0]])
    return self._t5(
      encoder_input_tokens=input_ids,
      decoder_target_tokens=target_ids,
      decoder_input_tokens=shifted,
      training=training,
    )['logits']

  def greedy(
    self, input_ids: tf.Tensor, max_tokens: int, end_id: int
  ) -> tf.Tensor:
    """Returns the likeliest wordpiece after the other, up to the end.

    Args:
      input_ids: x, int32 [B, Lx], zeros behind it; B is static.
      end_id: Wordpiece that ends an output.

    Returns:
      int32 [B, max_tokens]; zeros behind the end.
    """
    step, cache = self._decoding(input_ids, max_tokens)
    ids = tf.fill([input_ids.shape[0], 1], PAD_ID)
    is_open = tf.ones_like(ids[:, 0], tf.bool)
    found = tf.TensorArray(tf.int32, max_tokens)

    def body(i, ids, is_open, found, cache):
      logits, cache = step(ids, i, cache)
      best = tf.argmax(logits, axis=-1, output_type=tf.int32)
      best = tf.where(is_open, best, PAD_ID)
      is_open &= best != end_id
      return i + 1, best[:, None], is_open, found.write(i, best), cache

    _, _, _, found, _ = tf.while_loop(
      lambda i, ids, is_open, found, cache: tf.reduce_any(is_open),
      body,
      (0, ids, is_open, found, cache),
      maximum_iterations=max_tokens,
    )
    return tf.transpose(found.stack())

  def beam(
    self, input_ids: tf.Tensor, max_tokens: int, end_id: int, num_beams: int
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the likeliest outputs that beam search finds.

    Args:
      input_ids: x, int32 [B, Lx], zeros behind it; B is static.
      end_id: Wordpiece that ends an output.

    Returns:
      int32 [B, num_beams, max_tokens], the best first, zeros behind the end,
      and log p of each, float32 [B, num_beams].
    """
    step, cache = self._decoding(input_ids, max_tokens + 1)
    vocab_size = self.config.vocab_size
    only_end = exclusion.NO_SCORE * (1.0 - tf.one_hot(end_id, vocab_size))

    def step_or_end(ids, i, cache):
      # What has not ended by itself competes as it is.
      logits, cache = step(ids, i, cache)
      return tf.where(i < max_tokens, logits, only_end), cache

    search = _FullBeamSearch(
      step_or_end,
      vocab_size,
      num_beams,
      alpha=0.0,  # Scores are log p: longer outputs have no advantage.
      max_decode_length=max_tokens + 1,
      eos_id=end_id,
      padded_decode=True,
    )
    begin = tf.fill([input_ids.shape[0]], PAD_ID)
    ids, scores = search.search(begin, cache)
    return ids[..., 1:-1], scores

  def _decoding(self, input_ids, max_tokens):
    """Returns a function of one position, and the cache that it begins with.

    The function gives a wordpiece [N, 1] at position i, and the cache, to the
    decoder; it returns the logits of the next one, [N, V], and the cache.
    """
    config, batch_size = self.config, input_ids.shape[0]
    shape = [batch_size, max_tokens, config.num_heads, config.head_size]
    zeros = lambda: {'key': tf.zeros(shape), 'value': tf.zeros(shape)}
    cache = {
      'encoded': self._t5.encode(input_ids),
      'is_padding': tf.cast(input_ids == PAD_ID, tf.float32),
      'layers': [zeros() for _ in range(self._num_decoder_layers)],
    }

    def step(ids, i, cache):
      # Model Garden's own decoding also attends to the empty places behind i.
      is_later = tf.cast(tf.range(max_tokens) > i, tf.float32)
      outputs = self._t5.decoder(
        ids,
        cache['encoded'],
        decoder_mask=exclusion.NO_SCORE * is_later[None, None, None],
        encoder_decoder_mask=exclusion.NO_SCORE
        * cache['is_padding'][:, None, None],
        decode=True,
        decode_position=i,
        cache=dict(enumerate(cache['layers'])),
        max_decode_len=max_tokens,
      )
      layers = [outputs['cache'][n] for n in range(self._num_decoder_layers)]
      return outputs['logits'][:, 0], {**cache, 'layers': layers}

    return step, cache

  def named(self) -> Iterator[Named]:
    """Yields the variables by their names in Hugging Face's T5."""
    model = self._t5
    yield Named('shared.weight', model.shared_embedding.embeddings, False)
    sides = (
      ('encoder', model.encoder, model.encoder.encoder_layers),
      ('decoder', model.decoder, model.decoder.decoder_layers),
    )
    for side, stack, blocks in sides:
      bias = stack.relative_embedding.relative_attention_bias.embeddings
      name = f'{side}.block.0.layer.0.SelfAttention.relative_attention_bias'
      yield Named(f'{name}.weight', bias, False)
      for i, block in enumerate(blocks):
        for part in _parts(block):
          yield part._replace(name=f'{side}.block.{i}.layer.{part.name}.weight')
      norm = stack.output_norm.weight
      yield Named(f'{side}.final_layer_norm.weight', norm, False)
    if not self.config.tied_logits:
      yield Named('lm_head.weight', model.decoder.logits_dense.w, True)


class _FullBeamSearch(beam_search.SequenceBeamSearch):
  """Searches until no beam can be better than the worst that is found.

  Model Garden's ends as soon as the best is found, and leaves others empty.
  """

  def _continue_search(self, state):
    flags = beam_search._StateKeys.FINISHED_FLAGS
    return super()._continue_search(
      {**state, flags: tf.ones_like(state[flags])}
    )


def _parts(block) -> Iterator[Named]:
  """Yields a layer's variables; names lack what all have in common."""
  attentions = [('SelfAttention', block.self_attention.self_attention)]
  norms = [block.self_attention.layer_norm]
  if hasattr(block, 'cross_attention'):
    cross = block.cross_attention
    attentions.append(('EncDecAttention', cross.cross_attention))
    norms.append(cross.layer_norm)
  for i, (name, attention) in enumerate(attentions):
    for each in ('q', 'k', 'v', 'o'):
      yield Named(f'{i}.{name}.{each}', getattr(attention, each).w, True)
  norms.append(block.ffn_layer_norm)
  for i, norm in enumerate(norms):
    yield Named(f'{i}.layer_norm', norm.weight, False)
  last, wi = len(norms) - 1, block.ffn.wi
  for i, dense in enumerate(wi):
    name = 'wi' if len(wi) == 1 else f'wi_{i}'
    yield Named(f'{last}.DenseReluDense.{name}', dense.w, True)
  yield Named(f'{last}.DenseReluDense.wo', block.ffn.wo.w, True)
