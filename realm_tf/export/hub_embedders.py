"""TF Hub modules of both embedders: Embed_input and Embed_doc, Section 3.2."""

from collections.abc import Mapping

from realm_tf.export import graph_answerer
from realm_tf.export import hub_modules
from realm_tf.records import joining
from realm_tf.text import string_tensors


def query_embedder(source: hub_modules.Source) -> hub_modules.Module:
  """Returns Embed_input: string [B] or packed -> float32 [B, D]."""
  length = source.lengths.query_tokens

  def pack(texts):
    ids = string_tensors.token_ids(
      source.tokenizer, string_tensors.valid(texts), length - 2
    )
    return joining.pack(ids, None, *source.tokenizer.special_ids, length)

  # Makes the inner product with a block's embedding f(x,z).
  scale = float(source.model.score_scale)
  prompted = source.model.with_query_prompt
  return _embedder(
    source,
    source.model.query_embedder,
    pack,
    prompted,
    hub_modules.TEXTS,
    scale,
  )


def block_embedder(source: hub_modules.Source) -> hub_modules.Module:
  """Returns Embed_doc: {'titles', 'texts'} or packed -> float32 [B, D]."""
  lengths = source.lengths

  def pack(inputs):
    titles, texts = (
      string_tensors.token_ids(
        source.tokenizer, string_tensors.valid(inputs[name]), length
      )
      for name, length in (
        ('titles', lengths.title_tokens),
        ('texts', lengths.block_tokens),
      )
    )
    return joining.pack(
      titles, texts, *source.tokenizer.special_ids, lengths.block_tokens
    )

  spec = {'titles': hub_modules.TEXTS, 'texts': hub_modules.TEXTS}
  prompted = source.model.with_block_prompt
  return _embedder(
    source, source.model.block_embedder, pack, prompted, spec, 1.0
  )


def _embedder(source, embedder, pack, prompted, strings, scale):
  """Returns the module of one tower."""

  def encode(inputs, training):
    is_packed = isinstance(inputs, Mapping) and joining.NAMES[0] in inputs
    tokens = inputs if is_packed else graph_answerer.trim(pack(inputs))
    tokens = prompted({name: tokens[name] for name in joining.NAMES})
    outputs = embedder.encoder(tokens, training=training)
    return scale * embedder.from_outputs(
      outputs, tokens['input_mask'], training
    )

  # BERT's pooler is there whether or not the head reads it.
  reads_pooler = embedder.config.head == 'pooled'
  trainable = [
    variable
    for variable in embedder.trainable_variables
    if reads_pooler or '/pooler' not in variable.name
  ]
  trackable = hub_modules.reusable(source, embedder, trainable)
  hub_modules.make_callable(
    trackable, encode, [strings, dict.fromkeys(joining.NAMES, hub_modules.IDS)]
  )
  return trackable, {
    'serving_default': hub_modules.signature(
      lambda inputs: {'default': encode(inputs, False)}, strings
    ),
    'projected': hub_modules.signature(
      lambda tokens: {'default': encode(hub_modules.renamed(tokens), False)},
      dict.fromkeys(hub_modules.RELEASED_TOKENS, hub_modules.IDS),
    ),
  }
