"""Runs the span reader on OpenVINO, for inference on CPUs.

The result equals `span_reader.SpanReader`'s, but the hidden layers of spans do
not pass through memory several times. The head computes in float32.
"""

from collections.abc import Mapping

import numpy as np

from realm_tf import config as config_lib
from realm_tf.modeling import openvino_encoder
from realm_tf.modeling import span_reader
from realm_tf.objectives import exclusion

openvino, ops = openvino_encoder.openvino, openvino_encoder.ops


class OpenvinoReader:
  """Computes a span reader's function with a copy of its variables.

  A call maps the encoder's input dict, int32 [B, L], and Lz, the wordpieces of
  the second segment to score, to scores of spans, float32 [B, Lz, W], and of
  null spans, [B].

  Args:
    config: Config of the reader's encoder.
    dtype: Dtype of the encoder's matmuls, 'float32' or 'bfloat16'.
  """

  def __init__(
    self,
    reader: span_reader.SpanReader,
    config: config_lib.BertConfig,
    dtype: str,
  ):
    self._encode = openvino_encoder.OpenvinoEncoder(
      reader.encoder, config, dtype
    )
    self._max_width, self._is_inner = reader.max_span_width, reader.is_inner
    self._head = openvino_encoder.compile_graph(_head(reader), 'float32')
    null = reader.null_score
    self._null = [each.numpy() for each in null.weights] if null else None

  def __call__(
    self, tokens: Mapping[str, np.ndarray], body_length: int
  ) -> span_reader.Scores:
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
    none = np.float32(exclusion.NO_SCORE)
    null = np.full(len(states), none)
    if self._null:
      kernel, bias = self._null
      null = (states[:, 0] @ kernel + bias)[:, 0]
    return span_reader.Scores(np.where(is_inside, scores, none), null)


def _head(reader):
  """Returns the head as an `openvino.Model`.

  Its inputs are states, float32 [B, L, H], and the positions to read, int32
  [B, Lz + W - 1]; its output is scores, float32 [B, Lz, W].
  """
  floats, ints = openvino_encoder.floats, openvino_encoder.ints
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
