"""A model's encoders -> TF Hub modules: SavedModels that can be fine-tuned.

A call takes strings or packed wordpieces, and `training`. The attributes are
hub.KerasLayer's (https://www.tensorflow.org/hub/reusable_saved_models), names
and arguments of signatures are the authors' TF1 modules'. Section 3.2 of the
paper has the encoders.
"""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import os
from typing import Any

import tensorflow as tf

from realm_tf import errors
from realm_tf.data import joining
from realm_tf.exchange import graph_answerer
from realm_tf.index import model_files
from realm_tf.model import embedder as embedder_lib
from realm_tf.model import realm_model
from realm_tf.run import layout
from realm_tf.text import string_tensors
from realm_tf.text import wordpiece

TEXTS = tf.TensorSpec([None], tf.string)
IDS = tf.TensorSpec([None, None], tf.int32)
PACKED = dict.fromkeys(joining.NAMES, IDS)
# Names of packed wordpieces in the authors' modules.
_RELEASED_NAMES = ('input_ids', 'input_mask', 'segment_ids')
RELEASED = dict.fromkeys(_RELEASED_NAMES, IDS)
Tokens = dict[str, tf.Tensor]
_BLOCKS = {'titles': TEXTS, 'texts': TEXTS}
_PAIRS = {'queries': TEXTS, 'texts': TEXTS}
_POSITIONS = {'mlm_positions': IDS}


@dataclasses.dataclass(frozen=True)
class Module:
  """A module to write.

  Attributes:
    variables: All variables of `encode`.
    trainable: Variables that fine-tuning trains.
    encode: Function of inputs and `training`.
    inputs: tf.TensorSpecs of each form of input.
    signatures: Functions by name; `serving_default` takes strings.
  """

  variables: Sequence[tf.Variable]
  trainable: Sequence[tf.Variable]
  encode: Callable[[Any, bool], Any]
  inputs: Sequence[Any]
  signatures: Mapping[str, Any]

  def write(
    self, path: str, tokenizer: wordpiece.WordpieceTokenizer, vocab_file: str
  ) -> None:
    """Writes the SavedModel with a copy of the vocabulary."""
    trackable = tf.train.Checkpoint()
    trackable.variables = list(self.variables)
    trackable.trainable_variables = list(self.trainable)
    trackable.regularization_losses = []
    trackable.vocab_file = tf.saved_model.Asset(vocab_file)
    trackable.do_lower_case = tf.Variable(
      tokenizer.rules.lowercase, trainable=False
    )
    call = tf.function(
      lambda inputs, training=False: self.encode(inputs, training)
    )
    trackable.__call__ = call
    for spec in self.inputs:
      for training in (True, False):
        call.get_concrete_function(spec, training=training)
    tf.saved_model.save(trackable, path, dict(self.signatures))


def signature(function: Callable[[Any], Any], spec: Any) -> Any:
  """Returns `function` with named tensors as arguments.

  A dict of tensors becomes an argument per name; a single tensor is 'texts'.
  """
  if not isinstance(spec, Mapping):
    named = tf.TensorSpec(spec.shape, spec.dtype, 'texts')
    return tf.function(function, input_signature=[named])
  names = list(spec)
  named = [tf.TensorSpec(spec[n].shape, spec[n].dtype, n) for n in names]
  return tf.function(
    lambda *values: function(dict(zip(names, values))), input_signature=named
  )


def renamed(tokens: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
  """Renames packed wordpieces from the authors' names to ours."""
  names = dict(zip(_RELEASED_NAMES, joining.NAMES, strict=True))
  return {names.get(name, name): value for name, value in tokens.items()}


def export(model_dir: str, output_dir: str) -> list[str]:
  """Writes each module into a directory of `output_dir`; returns the paths."""
  opened = model_files.open_model(
    model_dir,
    [],
    optional=[realm_model.EMBEDDER, realm_model.MASKED_LM, realm_model.SPAN],
  )
  if not opened.parts:
    raise errors.UserError(
      '--model_dir must hold an embedder or a reader. Found neither in '
      f'{opened.params.path}. Train or import one.'
    )
  paths = []
  for name, module in _modules(opened).items():
    path = os.path.join(output_dir, name)
    module.write(path, opened.tokenizer, layout.vocab_file(model_dir))
    paths.append(path)
  return paths


def _modules(opened: model_files.OpenModel) -> dict[str, Module]:
  modules = {}
  if realm_model.EMBEDDER in opened.parts:
    modules['query_embedder'] = query_embedder(opened)
    modules['block_embedder'] = block_embedder(opened)
  has_masked_lm = realm_model.MASKED_LM in opened.parts
  if has_masked_lm or realm_model.SPAN in opened.parts:
    modules['knowledge_encoder'] = knowledge_encoder(opened, has_masked_lm)
  return modules


def query_embedder(source: model_files.OpenModel) -> Module:
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
  return _embedder(embedder, encode, TEXTS)


def block_embedder(source: model_files.OpenModel) -> Module:
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
  return _embedder(embedder, encode, _BLOCKS)


def knowledge_encoder(
  source: model_files.OpenModel, has_masked_lm: bool
) -> Module:
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
  inputs, released = [_PAIRS, PACKED], RELEASED
  signatures = {
    'serving_default': signature(lambda texts: encode(texts, False), _PAIRS),
    'tokens': signature(
      lambda tokens: encode(renamed(tokens), False), released
    ),
  }
  if has_masked_lm:
    inputs.append({**PACKED, **_POSITIONS})
    signatures['mlm'] = signature(
      lambda tokens: encode(renamed(tokens), False), {**released, **_POSITIONS}
    )
  return Module(
    layer.variables, layer.trainable_variables, encode, inputs, signatures
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


def _embedder(embedder, encode, strings) -> Module:
  # BERT always has a pooler, even if the head does not read it.
  reads_pooler = embedder.config.head == 'pooled'
  trainable = [
    variable
    for variable in embedder.trainable_variables
    if reads_pooler or '/pooler' not in variable.name
  ]
  signatures = {
    'serving_default': signature(
      lambda inputs: {'default': encode(inputs, False)}, strings
    ),
    'projected': signature(
      lambda tokens: {'default': encode(renamed(tokens), False)}, RELEASED
    ),
  }
  inputs = [strings, PACKED]
  return Module(embedder.variables, trainable, encode, inputs, signatures)


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
