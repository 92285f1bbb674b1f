"""The encoders of a model as TF Hub modules, Section 3.2 of the paper."""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from realm_tf.export import graph_answerer
from realm_tf.export import hub_modules
from realm_tf.index import model_files
from realm_tf.modeling import embedder as embedder_lib
from realm_tf.records import joining
from realm_tf.text import string_tensors

Tokens = dict[str, tf.Tensor]
_BLOCKS = {'titles': hub_modules.TEXTS, 'texts': hub_modules.TEXTS}
_PAIRS = {'queries': hub_modules.TEXTS, 'texts': hub_modules.TEXTS}
_POSITIONS = {'mlm_positions': hub_modules.IDS}


def query_embedder(source: model_files.OpenModel) -> hub_modules.Module:
  """Returns Embed_input: string [B] or packed -> float32 [B, D]."""
  length = source.config.lengths.query_tokens

  def pack(texts):
    ids = _ids(source, texts, length - 2)
    return joining.pack(ids, None, *source.tokenizer.special_ids, length)

  # With this scale, f(x,z) is the inner product with a block's embedding.
  scale = float(source.model.score_scale)
  prompted = source.model.with_query_prompt
  embedder = source.model.query_embedder
  encode = _embedding(embedder, pack, prompted, scale)
  example = "['who wrote Fidelio']"
  return _embedder(embedder, encode, hub_modules.TEXTS, example, length)


def block_embedder(source: model_files.OpenModel) -> hub_modules.Module:
  """Returns Embed_doc: {'titles', 'texts'} or packed -> float32 [B, D]."""
  lengths = source.config.lengths

  def pack(inputs):
    return joining.pack(
      _ids(source, inputs['titles'], lengths.title_tokens),
      _ids(source, inputs['texts'], lengths.block_tokens),
      *source.tokenizer.special_ids,
      lengths.block_tokens,
    )

  prompted = source.model.with_block_prompt
  embedder = source.model.block_embedder
  encode = _embedding(embedder, pack, prompted, 1.0)
  example = "{'titles': ['Fidelio'], 'texts': ['An opera in two acts.']}"
  return _embedder(embedder, encode, _BLOCKS, example, lengths.block_tokens)


def knowledge_encoder(
  source: model_files.OpenModel, has_masked_lm: bool
) -> hub_modules.Module:
  """Returns BERT of join(x, z): {'queries', 'texts'} string [B], or packed.

  Outputs are 'sequence_output' [B, L, H], 'pooled_output' [B, H] and, with a
  masked-LM head, 'mlm_logits' [B, M, V] at 'mlm_positions', which in strings
  are the positions of '[MASK]'. The model has the MASKED_LM or the SPAN part.
  """
  if has_masked_lm:
    layer = source.model.knowledge_encoder
    encode = _reading(source, layer.encoder, layer.masked_lm)
  else:
    layer = source.model.span_reader.encoder
    encode = _reading(source, layer, None)
  inputs, released = [_PAIRS, hub_modules.PACKED], hub_modules.RELEASED
  signatures = {
    'serving_default': hub_modules.signature(
      lambda texts: encode(texts, False), _PAIRS
    ),
    'tokens': hub_modules.signature(
      lambda tokens: encode(hub_modules.renamed(tokens), False), released
    ),
  }
  if has_masked_lm:
    inputs.append({**hub_modules.PACKED, **_POSITIONS})
    signatures['mlm'] = hub_modules.signature(
      lambda tokens: encode(hub_modules.renamed(tokens), False),
      {**released, **_POSITIONS},
    )
  return hub_modules.Module(
    layer.variables,
    layer.trainable_variables,
    encode,
    inputs,
    signatures,
    "{'queries': ['The [MASK] of Fidelio'], 'texts': ['An opera.']}",
    source.config.lengths.joint_tokens,
  )


def _ids(source, texts, length):
  return string_tensors.token_ids(
    source.tokenizer, string_tensors.valid(texts), length
  )


def _embedding(
  embedder: embedder_lib.Embedder,
  pack: Callable[[Any], Tokens],
  prompted: Callable[[Tokens], Tokens],
  scale: float,
) -> Callable[[Any, bool], tf.Tensor]:
  """Returns a function from (inputs, training) to float32 [B, D]."""

  def encode(inputs, training):
    is_packed = isinstance(inputs, Mapping) and joining.NAMES[0] in inputs
    tokens = inputs if is_packed else graph_answerer.trim(pack(inputs))
    tokens = prompted({name: tokens[name] for name in joining.NAMES})
    outputs = embedder.encoder(tokens, training=training)
    return scale * embedder.from_outputs(
      outputs, tokens['input_mask'], training
    )

  return encode


def _embedder(
  embedder, encode, strings, example, max_length
) -> hub_modules.Module:
  # BERT always has a pooler, even if the head does not read it.
  reads_pooler = embedder.config.head == 'pooled'
  trainable = [
    variable
    for variable in embedder.trainable_variables
    if reads_pooler or '/pooler' not in variable.name
  ]
  signatures = {
    'serving_default': hub_modules.signature(
      lambda inputs: {'default': encode(inputs, False)}, strings
    ),
    'projected': hub_modules.signature(
      lambda tokens: {'default': encode(hub_modules.renamed(tokens), False)},
      hub_modules.RELEASED,
    ),
  }
  inputs = [strings, hub_modules.PACKED]
  return hub_modules.Module(
    embedder.variables,
    trainable,
    encode,
    inputs,
    signatures,
    example,
    max_length,
  )


def _reading(source, bert, masked_lm) -> Callable[[Tokens, bool], Tokens]:
  """Returns a function from (inputs, training) to states and logits."""

  def encode(inputs, training):
    is_packed = joining.NAMES[0] in inputs
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


def _joined(source: model_files.OpenModel, inputs: Tokens) -> Tokens:
  """Packs {'queries', 'texts'} and finds the masked positions."""
  lengths = source.config.lengths
  queries = string_tensors.masked_token_ids(
    source.tokenizer,
    string_tensors.valid(inputs['queries']),
    lengths.query_tokens - 2,
  )
  texts = _ids(source, inputs['texts'], lengths.joint_tokens)
  cls_id, sep_id = source.tokenizer.special_ids
  tokens = graph_answerer.trim(
    joining.pack(queries, texts, cls_id, sep_id, lengths.joint_tokens)
  )
  ids = tokens['input_word_ids']
  places = tf.range(tf.shape(ids)[1]) + tf.zeros_like(ids)
  is_mask = ids == source.tokenizer.mask_id
  positions = tf.ragged.boolean_mask(places, is_mask).to_tensor()
  return {**tokens, 'mlm_positions': positions}
