"""An encoder and its vocabulary -> a TF2 SavedModel that can be fine-tuned.

A call takes strings or packed wordpieces, and `training`. The attributes are
hub.KerasLayer's (https://www.tensorflow.org/hub/reusable_saved_models), names
and arguments of signatures are the authors' TF1 modules'.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
import dataclasses
from typing import Any

import tensorflow as tf

from realm_tf.records import joining
from realm_tf.text import wordpiece

TEXTS = tf.TensorSpec([None], tf.string)
IDS = tf.TensorSpec([None, None], tf.int32)
PACKED = dict.fromkeys(joining.NAMES, IDS)
# Names of packed wordpieces in the authors' modules.
_RELEASED_NAMES = ('input_ids', 'input_mask', 'segment_ids')
RELEASED = dict.fromkeys(_RELEASED_NAMES, IDS)


@dataclasses.dataclass(frozen=True)
class Module:
  """A module to write.

  Attributes:
    variables: All variables of `encode`.
    trainable: Variables that fine-tuning trains.
    encode: Function of inputs and `training`.
    inputs: tf.TensorSpecs of each form of input.
    signatures: Functions by name; `serving_default` takes strings.
    example: Python code of an input.
    max_length: Wordpieces of the longest input.
  """

  variables: Sequence[tf.Variable]
  trainable: Sequence[tf.Variable]
  encode: Callable[[Any, bool], Any]
  inputs: Sequence[Any]
  signatures: Mapping[str, Any]
  example: str
  max_length: int

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

  def describe(self) -> Iterator[tuple[str, str, str]]:
    """Yields name, inputs and outputs of each signature as Markdown."""
    for name, function in self.signatures.items():
      concrete = function.get_concrete_function()
      inputs = {spec.name: spec for spec in function.input_signature}
      outputs = concrete.structured_outputs
      yield f'`{name}`', _described(inputs), _described(outputs)


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


def _described(specs: Mapping[str, tf.TensorSpec]) -> str:
  return ', '.join(
    f'`{name}` {spec.dtype.name} '
    f'[{", ".join("?" if n is None else str(n) for n in spec.shape)}]'
    for name, spec in specs.items()
  )
