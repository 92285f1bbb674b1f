"""The knowledge-augmented encoder as a TF Hub module, Section 3.2.

query and text, or packed wordpieces -> states, logits of masked tokens
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from realm_tf.export import graph_answerer
from realm_tf.export import hub_modules
from realm_tf.records import joining
from realm_tf.text import string_tensors

_STRINGS = {'queries': hub_modules.TEXTS, 'texts': hub_modules.TEXTS}
_POSITIONS = {'mlm_positions': hub_modules.IDS}
_PACKED = dict.fromkeys(joining.NAMES, hub_modules.IDS)
_RELEASED = dict.fromkeys(hub_modules.RELEASED_TOKENS, hub_modules.IDS)


def knowledge_encoder(
  source: hub_modules.Source, has_masked_lm: bool
) -> hub_modules.Module:
  """Returns BERT of join(x, z): {'queries', 'texts'} string [B], or packed.

  It gives {'sequence_output' [B, L, H], 'pooled_output' [B, H]} and, with a
  masked-LM head, 'mlm_logits' [B, M, V] at 'mlm_positions'; in strings these
  are the places of '[MASK]'.

  Args:
    source: A model with the MASKED_LM part, or else the SPAN part.
    has_masked_lm: Whether it is the MASKED_LM part.
  """
  if has_masked_lm:
    layer = source.model.knowledge_encoder
    encode = _encoding(source, layer.encoder, layer.masked_lm)
  else:
    layer = source.model.span_reader.encoder
    encode = _encoding(source, layer, None)
  trackable = hub_modules.reusable(source, layer)
  specs = [_STRINGS, _PACKED] + [{**_PACKED, **_POSITIONS}] * has_masked_lm
  hub_modules.make_callable(trackable, encode, specs)
  renamed = hub_modules.renamed
  signatures = {
    'serving_default': hub_modules.signature(
      lambda texts: encode(texts, False), _STRINGS
    ),
    'tokens': hub_modules.signature(
      lambda tokens: encode(renamed(tokens), False), _RELEASED
    ),
  }
  if has_masked_lm:
    signatures['mlm'] = hub_modules.signature(
      lambda tokens: encode(
        {**renamed(tokens), 'mlm_positions': tokens['mlm_positions']}, False
      ),
      {**_RELEASED, **_POSITIONS},
    )
  return trackable, signatures


def _encoding(source, bert, masked_lm) -> Callable[..., dict[str, Any]]:
  """Returns the module's function of inputs and `training`."""

  def encode(inputs, training):
    is_packed = 'input_word_ids' in inputs
    tokens = inputs if is_packed else _joined(source, inputs)
    states = bert({n: tokens[n] for n in joining.NAMES}, training=training)
    outputs = {n: states[n] for n in ('sequence_output', 'pooled_output')}
    if not is_packed:
      outputs['input_word_ids'] = tokens['input_word_ids']
    if masked_lm is not None and 'mlm_positions' in tokens:
      positions = outputs['mlm_positions'] = tokens['mlm_positions']
      outputs['mlm_logits'] = masked_lm(states['sequence_output'], positions)
    return outputs

  return encode


def _joined(source, inputs):
  """Packs {'queries', 'texts'} and finds the masked positions."""
  lengths, mask_id = source.lengths, source.tokenizer.mask_id
  queries = string_tensors.masked_token_ids(
    source.tokenizer,
    string_tensors.valid(inputs['queries']),
    lengths.query_tokens - 2,
  )
  texts = string_tensors.token_ids(
    source.tokenizer,
    string_tensors.valid(inputs['texts']),
    lengths.joint_tokens,
  )
  tokens = graph_answerer.trim(
    joining.pack(
      queries, texts, *source.tokenizer.special_ids, lengths.joint_tokens
    )
  )
  is_mask = tokens['input_word_ids'] == mask_id
  places = tf.range(tf.shape(is_mask)[1]) + tf.zeros_like(
    tokens['input_word_ids']
  )
  positions = tf.ragged.boolean_mask(places, is_mask).to_tensor()
  return {**tokens, 'mlm_positions': positions}
