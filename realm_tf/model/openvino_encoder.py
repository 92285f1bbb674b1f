"""Runs BERT and the span reader on OpenVINO, for inference on CPUs.

This is the only import of openvino. The graph is written by hand, because
OpenVINO does not fuse the operations of a graph converted from TensorFlow.
"""

from collections.abc import Callable, Mapping, Sequence
import logging
import sys
import threading

import numpy as np
import tf_keras

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import interfaces
from realm_tf.model import bert
from realm_tf.model import readers
from realm_tf.model import weights

# OpenVINO counts its runs on a host of its maker, and below the home directory.
# Without this module it takes an empty one.
sys.modules.setdefault('openvino_telemetry', None)  # type: ignore[arg-type]
_HANDLERS = logging.root.handlers[:]  # OpenVINO takes absl's away.
try:
  import openvino
  from openvino import opset13 as ops
except ImportError as error:
  raise errors.UserError(
    "openvino must be installed for `index.embed_backend='openvino'`. Found no "
    "module named openvino. Run: pip install 'realm_tf[openvino]'"
  ) from error
logging.root.handlers[:] = _HANDLERS

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
    bias = ops.multiply(is_padding, floats(interfaces.NO_SCORE))
    bias = ops.unsqueeze(bias, ints([1, 2]))  # [B, 1, 1, L]
    last = self._config.num_layers - 1
    activate = {
      'relu': ops.relu,
      'gelu': lambda values: ops.gelu(values, 'erf'),
      'gelu_tanh': lambda values: ops.gelu(values, 'tanh'),
    }[self._config.activation]
    for i in range(last + 1):
      name = f'transformer/layer_{i}'
      queried = self._first(states) if cls_only and i == last else states
      attended = self._attend(f'{name}/self_attention', queried, states, bias)
      states = self._layer_norm(
        f'{name}/self_attention_layer_norm', ops.add(queried, attended)
      )
      inner = activate(self._dense(f'{name}/intermediate', states))
      output = self._dense(f'{name}/output', inner)
      states = self._layer_norm(
        f'{name}/output_layer_norm', ops.add(states, output)
      )
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


class OpenvinoReader:
  """Computes a span reader's function with a copy of its variables.

  The hidden layers of spans do not pass through memory several times, as in
  TensorFlow. The head computes in float32.

  A call maps the encoder's input dict, int32 [B, L], and Lz, the wordpieces of
  the second segment to score, to scores of spans, float32 [B, Lz, W], and of
  null spans, [B].

  Args:
    config: Config of the reader's encoder.
    dtype: Dtype of the encoder's matmuls, 'float32' or 'bfloat16'.
  """

  def __init__(
    self, reader: readers.SpanReader, config: config_lib.BertConfig, dtype: str
  ):
    self._encode = OpenvinoEncoder(reader.encoder, config, dtype)
    self._max_width, self._is_inner = reader.max_span_width, reader.is_inner
    self._head = compile_graph(_head(reader), 'float32')
    self._is_normalized = reader.head == 'linear_null'
    null = reader.null_score
    self._null = [each.numpy() for each in null.weights] if null else None

  def __call__(
    self, tokens: Mapping[str, np.ndarray], body_length: int
  ) -> interfaces.Scores:
    types = tokens['input_type_ids']
    # Spans from the last positions end after the body.
    places = np.arange(body_length + self._max_width - 1, dtype=np.int32)
    places = types.argmax(axis=1).astype(np.int32)[:, None] + places
    places = np.minimum(places, types.shape[1] - 1)
    states = self._encode(tokens)['sequence_output']
    (scores,) = self._head([states, places])
    num_body = types.sum(axis=1) - 1  # Without [SEP].
    ends = np.add.outer(np.arange(body_length), np.arange(self._max_width))
    is_inside = ends < num_body[:, None, None]
    if self._is_inner is not None:
      is_inner = self._is_inner[tokens['input_word_ids']]
      after = np.minimum(places + 1, types.shape[1] - 1)
      cut = np.take_along_axis(is_inner, after, axis=1)[:, ends]
      begin = places[:, :body_length]
      cut |= np.take_along_axis(is_inner, begin, axis=1)[..., None]
      is_inside &= ~cut
    none = np.float32(interfaces.NO_SCORE)
    null = np.full(len(states), none)
    if self._null:
      kernel, bias = self._null
      null = (states[:, 0] @ kernel + bias).sum(axis=1)
    scores = np.where(is_inside, scores, none)
    if self._is_normalized:
      spans = scores.reshape(len(scores), -1)
      everything = np.logaddexp(np.logaddexp.reduce(spans, axis=1), null)
      scores, null = scores - everything[:, None, None], null - everything
    return interfaces.Scores(scores, null)


def _head(reader):
  """Returns the head as an `openvino.Model`.

  Its inputs are states, float32 [B, L, H], and the positions to read, int32
  [B, Lz + W - 1]; its output is scores, float32 [B, Lz, W].
  """
  width = reader.max_span_width
  states = ops.parameter([-1, -1, reader.projection.kernel.shape[0]], name='s')
  places = ops.parameter([-1, -1], np.int32, name='places')
  rows = ops.gather(states, places, ints(1), batch_dims=1)
  length = ops.subtract(
    ops.gather(ops.shape_of(places), ints([1]), ints(0)), ints([width - 1])
  )

  def rows_from(values, start):
    begin, axis = ints([start]), ints([1])
    return ops.slice(values, begin, ops.add(length, begin), axis, axis)

  starts, ends = (
    ops.add(ops.matmul(rows, floats(kernel), False, False), floats(bias))
    for kernel, bias in zip(
      np.split(reader.projection.kernel.numpy(), 2, axis=1),
      np.split(reader.projection.bias.numpy(), 2),
    )
  )
  starts = rows_from(starts, 0)
  if reader.head != 'mlp':
    sums = [ops.add(starts, rows_from(ends, start)) for start in range(width)]
    return openvino.Model([ops.concat(sums, -1)], [states, places])
  norm, score = reader.layer_norm, reader.score
  # The norm's scale and offset are merged with the product after them.
  weights = norm.gamma.numpy()[:, None] * score.kernel.numpy()
  offset = norm.beta.numpy() @ score.kernel.numpy() + score.bias.numpy()
  scores = []
  for start in range(width):
    hidden = ops.relu(ops.add(starts, rows_from(ends, start)))
    normal = ops.mvn(hidden, ints([-1]), True, norm.epsilon, 'inside_sqrt')
    product = ops.matmul(normal, floats(weights), False, False)
    scores.append(ops.add(product, floats(offset)))
  return openvino.Model([ops.concat(scores, -1)], [states, places])
