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

_TEXTS = tf.TensorSpec([None], tf.string)
_IDS = tf.TensorSpec([None, None], tf.int32)
_PACKED = dict.fromkeys(joining.NAMES, _IDS)
# Names of packed wordpieces in the authors' modules.
_RELEASED_NAMES = ('input_ids', 'input_mask', 'segment_ids')
_RELEASED = dict.fromkeys(_RELEASED_NAMES, _IDS)
_BLOCKS = {'titles': _TEXTS, 'texts': _TEXTS}
_PAIRS = {'queries': _TEXTS, 'texts': _TEXTS}
_POSITIONS = {'mlm_positions': _IDS}
_Tokens = dict[str, tf.Tensor]


@dataclasses.dataclass(frozen=True)
class Module:
  """A module to write.

  Attributes:
    variables: All variables of `encode`.
    trainable: Variables that fine-tuning trains.
    encode: Function of inputs and `training`.
    inputs: tf.TensorSpecs of each form of input.
    signatures: tf.TensorSpecs by name, in which packed wordpieces have the
      authors' names; `serving_default` takes strings.
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
      lambda inputs, training=False: self.encode(inputs, training),
      autograph=False,
    )
    trackable.__call__ = call
    for spec in self.inputs:
      for training in (True, False):
        call.get_concrete_function(spec, training=training)
    tf.saved_model.save(
      trackable,
      path,
      {name: self._signature(spec) for name, spec in self.signatures.items()},
    )

  def _signature(self, spec: Any) -> Any:
    """Returns a function of named tensors; a single tensor is 'texts'."""
    specs = spec if isinstance(spec, Mapping) else {'texts': spec}
    ours = dict(zip(_RELEASED_NAMES, joining.NAMES, strict=True))

    def serve(*values: tf.Tensor) -> _Tokens:
      given = {ours.get(n, n): value for n, value in zip(specs, values)}
      outputs = self.encode(given if specs is spec else values[0], False)
      return outputs if isinstance(outputs, dict) else {'default': outputs}

    return tf.function(
      serve,
      input_signature=[
        tf.TensorSpec(each.shape, each.dtype, name)
        for name, each in specs.items()
      ],
      autograph=False,
    )


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
  modules = {}
  if realm_model.EMBEDDER in opened.parts:
    modules['query_embedder'] = query_embedder(opened)
    modules['block_embedder'] = block_embedder(opened)
  if {realm_model.MASKED_LM, realm_model.SPAN} & {*opened.parts}:
    modules['knowledge_encoder'] = knowledge_encoder(opened)
  paths = {name: os.path.join(output_dir, name) for name in modules}
  for name, module in modules.items():
    module.write(paths[name], opened.tokenizer, layout.vocab_file(model_dir))
  return [*paths.values()]


def query_embedder(source: model_files.OpenModel) -> Module:
  """Returns Embed_input: string [B] or packed -> float32 [B, D]."""
  length, model = source.config.lengths.query_tokens, source.model
  cls_id, sep_id = source.tokenizer.special_ids

  def pack(texts: tf.Tensor) -> _Tokens:
    ids = _ids(source, texts, length - 2)
    return joining.pack(ids, None, cls_id, sep_id, length)

  # With this scale, f(x,z) is the inner product with a block's embedding.
  scale = float(model.score_scale)
  return _embedder(
    model.query_embedder, _TEXTS, pack, model.with_query_prompt, scale
  )


def block_embedder(source: model_files.OpenModel) -> Module:
  """Returns Embed_doc: {'titles', 'texts'} or packed -> float32 [B, D]."""
  lengths, model = source.config.lengths, source.model
  cls_id, sep_id = source.tokenizer.special_ids

  def pack(inputs: _Tokens) -> _Tokens:
    return joining.pack(
      _ids(source, inputs['titles'], lengths.title_tokens),
      _ids(source, inputs['texts'], lengths.block_tokens),
      cls_id,
      sep_id,
      lengths.block_tokens,
    )

  return _embedder(
    model.block_embedder, _BLOCKS, pack, model.with_block_prompt, 1.0
  )


def _embedder(
  embedder: embedder_lib.Embedder,
  strings: Any,
  pack: Callable[[Any], _Tokens],
  prompted: Callable[[_Tokens], _Tokens],
  scale: float,
) -> Module:
  """Returns a module of `strings`, their spec, or of packed wordpieces."""

  def encode(inputs: Any, training: bool) -> tf.Tensor:
    is_packed = isinstance(inputs, Mapping) and joining.NAMES[0] in inputs
    tokens = inputs if is_packed else graph_answerer.trim(pack(inputs))
    tokens = prompted({name: tokens[name] for name in joining.NAMES})
    outputs = embedder.encoder(tokens, training=training)
    return scale * embedder.from_outputs(
      outputs, tokens['input_mask'], training
    )

  # BERT always has a pooler, even if the head does not read it.
  reads_pooler = embedder.config.head == 'pooled'
  trainable = [
    variable
    for variable in embedder.trainable_variables
    if reads_pooler or '/pooler' not in variable.name
  ]
  return Module(
    embedder.variables,
    trainable,
    encode,
    [strings, _PACKED],
    {'serving_default': strings, 'projected': _RELEASED},
  )


def knowledge_encoder(source: model_files.OpenModel) -> Module:
  """Returns BERT of join(x, z): {'queries', 'texts'} string [B], or packed.

  Outputs are 'sequence_output' [B, L, H], 'pooled_output' [B, H] and, with a
  masked-LM head, 'mlm_logits' [B, M, V] at 'mlm_positions', which in strings
  are the positions of '[MASK]'. The model has the MASKED_LM or the SPAN part.
  """
  inputs = [_PAIRS, _PACKED]
  signatures = {'serving_default': _PAIRS, 'tokens': _RELEASED}
  if realm_model.MASKED_LM in source.parts:
    layer = source.model.knowledge_encoder
    bert, masked_lm = layer.encoder, layer.masked_lm
    inputs.append({**_PACKED, **_POSITIONS})
    signatures['mlm'] = {**_RELEASED, **_POSITIONS}
  else:
    layer = bert = source.model.span_reader.encoder
    masked_lm = None

  def encode(inputs: _Tokens, training: bool) -> _Tokens:
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

  return Module(
    layer.variables, layer.trainable_variables, encode, inputs, signatures
  )


def _joined(source: model_files.OpenModel, inputs: _Tokens) -> _Tokens:
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


def _ids(source: model_files.OpenModel, texts: Any, length: int) -> Any:
  return string_tensors.token_ids(
    source.tokenizer, string_tensors.valid(texts), length
  )
