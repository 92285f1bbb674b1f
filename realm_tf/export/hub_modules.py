"""An encoder and its vocabulary -> a TF2 SavedModel that can be fine-tuned.

A module is called with strings or with packed wordpieces and `training`, and
has `variables`, `trainable_variables` and `regularization_losses`, as
hub.KerasLayer expects (https://www.tensorflow.org/hub/reusable_saved_models).
Signatures have the names and the arguments of the authors' TF1 modules.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.modeling import realm_model
from realm_tf.records import joining
from realm_tf.text import wordpiece

TEXTS = tf.TensorSpec([None], tf.string)
IDS = tf.TensorSpec([None, None], tf.int32)
# An object with `__call__`, variables and vocabulary, and its signatures by
# name; `serving_default` takes strings.
Module = tuple[
  tf.train.Checkpoint, dict[str, Callable[..., dict[str, tf.Tensor]]]
]
# Names of packed wordpieces in the authors' modules.
RELEASED_TOKENS = ('input_ids', 'input_mask', 'segment_ids')


class Source(NamedTuple):
  """A model to make modules of.

  Attributes:
    model: A model with the parts to export.
    vocab_file: Path of the vocabulary, which is copied into the module.
  """

  model: realm_model.RealmModel
  tokenizer: wordpiece.WordpieceTokenizer
  lengths: config_lib.LengthConfig
  vocab_file: str


def reusable(
  source: Source,
  layer: tf_keras.layers.Layer,
  trainable: Optional[list[tf.Variable]] = None,
) -> tf.train.Checkpoint:
  """Returns an object with the attributes that every module has.

  Args:
    trainable: Variables to train; by default the layer's trainable ones.
  """
  trackable = tf.train.Checkpoint()
  trackable.variables = list(layer.variables)
  if trainable is None:
    trainable = layer.trainable_variables
  trackable.trainable_variables = list(trainable)
  trackable.regularization_losses = []
  trackable.vocab_file = tf.saved_model.Asset(source.vocab_file)
  trackable.do_lower_case = tf.Variable(
    source.tokenizer.rules.lowercase, trainable=False
  )
  return trackable


def make_callable(
  trackable: tf.train.Checkpoint,
  function: Callable[[Any, bool], Any],
  specs: Sequence[Any],
) -> None:
  """Makes `trackable` callable: it runs `function` of inputs and `training`.

  Args:
    specs: Inputs that it takes, as tf.TensorSpecs.
  """
  call = tf.function(lambda inputs, training=False: function(inputs, training))
  trackable.__call__ = call
  for spec in specs:
    for training in (True, False):
      call.get_concrete_function(spec, training=training)


def signature(function: Callable[[Any], Any], spec: Any) -> Callable[..., Any]:
  """Returns `function` with named tensors as arguments.

  Args:
    function: Takes a dict of tensors, or one tensor, which is named 'texts'.
    spec: tf.TensorSpecs in the same form.
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
  """Returns packed wordpieces under our names instead of the authors'."""
  return {
    ours: tokens[theirs] for ours, theirs in zip(joining.NAMES, RELEASED_TOKENS)
  }
