"""Runs BERT on OpenVINO, for inference on CPUs: the only import of openvino.

The graph is written by hand, because OpenVINO does not fuse the operations of a
graph converted from TensorFlow.
"""

from collections.abc import Callable, Mapping, Sequence
import threading

import numpy as np
import tf_keras

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.modeling import bert
from realm_tf.modeling import weights
from realm_tf.objectives import exclusion

try:
  import openvino
  from openvino import opset13 as ops
except ImportError as error:
  raise errors.UserError(
    "openvino must be installed for `index.embed_backend='openvino'`. Found no "
    "module named openvino. Run: pip install 'realm_tf[openvino]'"
  ) from error

_INPUTS = ('input_word_ids', 'input_mask', 'input_type_ids')
# Inputs of a graph -> outputs.
Run = Callable[[Sequence[np.ndarray]], list[np.ndarray]]
_PRECISIONS = {'float32': 'f32', 'bfloat16': 'bf16'}
# A single Core, never freed. Each Core sets a stack for signal handlers and
# frees it at its end. With several Cores, the stack in use may be a freed one,
# and the next signal would end the process.
_CORE = openvino.Core()


class OpenvinoEncoder:
  """Computes an encoder's function with a copy of its variables.

  A call takes and returns dicts like `bert.build_encoder`'s layer.

  Args:
    dtype: Dtype of matmuls, 'float32' or 'bfloat16'.
    cls_only: Whether the last layer computes only the first position.
  """

  def __init__(
    self,
    encoder: tf_keras.layers.Layer,
    config: config_lib.BertConfig,
    dtype: str = 'float32',
    cls_only: bool = False,
  ):
    arrays = {
      name: variable.numpy()
      for name, variable in weights.by_local_name(encoder).items()
    }
    self._run = compile_graph(_Graph(arrays, config).build(cls_only), dtype)

  def __call__(self, tokens: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    sequence, pooled = self._run([np.asarray(tokens[name]) for name in _INPUTS])
    return {'sequence_output': sequence, 'pooled_output': pooled}


def compile_graph(graph: openvino.Model, dtype: str) -> Run:
  """Compiles a graph into a function that one thread runs at a time."""
  compiled = _CORE.compile_model(
    graph,
    'CPU',
    {
      'INFERENCE_PRECISION_HINT': _PRECISIONS[dtype],
      'PERFORMANCE_HINT': 'LATENCY',
      # A trainer may run on the same CPU: the scheduler places threads better.
      'ENABLE_CPU_PINNING': False,
    },
  )
  request, lock = compiled.create_infer_request(), threading.Lock()

  def run(inputs):
    with lock:
      results = request.infer(dict(enumerate(inputs)))
    return [results[output] for output in compiled.outputs]

  return run


def floats(values) -> openvino.Node:
  """Returns a float32 constant."""
  return ops.constant(np.ascontiguousarray(values, np.float32))


def ints(values) -> openvino.Node:
  """Returns an int64 constant."""
  return ops.constant(np.asarray(values, np.int64))


class _Graph:
  """BERT in OpenVINO's operations, with constant weights."""

  def __init__(
    self, arrays: dict[str, np.ndarray], config: config_lib.BertConfig
  ):
    self._arrays = arrays
    self._config = config
    self._width = config.hidden_size

  def build(self, cls_only: bool):
    """Returns the `openvino.Model`."""
    ids, mask, types = (
      ops.parameter([-1, -1], np.int32, name=name) for name in _INPUTS
    )
    states = self._embed(ids, types)
    is_padding = ops.subtract(floats(1.0), ops.convert(mask, 'f32'))
    bias = ops.multiply(is_padding, floats(exclusion.NO_SCORE))
    bias = ops.unsqueeze(bias, ints([1, 2]))  # [B, 1, 1, L]
    last = self._config.num_layers - 1
    for i in range(last + 1):
      states = self._layer(i, states, bias, cls_only and i == last)
    first = ops.squeeze(self._first(states), ints([1]))
    pooled = ops.tanh(self._dense('pooler_transform', first))
    return openvino.Model([states, pooled], [ids, mask, types])

  def _embed(self, ids, types):
    words, positions, kinds = (
      floats(self._arrays[f'{name}/embeddings'])
      for name in ('word_embeddings', 'position_embedding', 'type_embeddings')
    )
    rows, step = ints([0]), ints([1])
    length = ops.gather(ops.shape_of(ids), step, rows)
    sums = ops.add(
      ops.add(ops.gather(words, ids, rows), ops.gather(kinds, types, rows)),
      ops.slice(positions, rows, length, step, rows),
    )
    return self._layer_norm('embeddings/layer_norm', sums)

  def _layer(self, number, states, bias, cls_only):
    name = f'transformer/layer_{number}'
    queried = self._first(states) if cls_only else states
    attended = self._attend(f'{name}/self_attention', queried, states, bias)
    states = self._layer_norm(
      f'{name}/self_attention_layer_norm', ops.add(queried, attended)
    )
    inner = self._activate(self._dense(f'{name}/intermediate', states))
    output = self._dense(f'{name}/output', inner)
    return self._layer_norm(
      f'{name}/output_layer_norm', ops.add(states, output)
    )

  def _attend(self, name, queried, states, bias):
    heads = self._config.num_heads
    shape = ints([0, 0, heads, self._width // heads])
    swap = ints([0, 2, 1, 3])
    query, key, value = (
      ops.transpose(
        ops.reshape(self._dense(f'{name}/{part}', inputs), shape, True), swap
      )  # [B, A, L, H/A]
      for part, inputs in zip(
        ('query', 'key', 'value'), (queried, states, states)
      )
    )
    scale = floats((self._width // heads) ** -0.5)
    scores = ops.matmul(ops.multiply(query, scale), key, False, True)
    mixed = ops.matmul(
      ops.softmax(ops.add(scores, bias), -1), value, False, False
    )
    joined = ops.reshape(
      ops.transpose(mixed, swap), ints([0, 0, self._width]), True
    )
    return self._dense(f'{name}/attention_output', joined)

  def _dense(self, name, states):
    # Attention's kernels have an axis for the heads.
    kernel = self._arrays[f'{name}/kernel']
    inner = self._width
    if name.endswith('/output'):
      inner = self._config.intermediate_size
    product = ops.matmul(
      states, floats(kernel.reshape(inner, -1)), False, False
    )
    bias = self._arrays[f'{name}/bias'].reshape(-1)
    return ops.add(product, floats(bias))

  def _activate(self, states):
    if self._config.activation == 'relu':
      return ops.relu(states)
    is_tanh = self._config.activation == 'gelu_tanh'
    return ops.gelu(states, 'tanh' if is_tanh else 'erf')

  def _layer_norm(self, name, states):
    scale, offset = (
      floats(self._arrays[f'{name}/{part}']) for part in ('gamma', 'beta')
    )
    normal = ops.mvn(
      states, ints([-1]), True, bert.LAYER_NORM_EPSILON, 'inside_sqrt'
    )
    return ops.add(ops.multiply(normal, scale), offset)

  def _first(self, states):
    """Returns the first position, [B, 1, H]."""
    start, stop = ints([0]), ints([1])
    return ops.slice(states, start, stop, stop, stop)
