"""Protocol buffers of TensorFlow Serving's gRPC API -> questions, and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import types_pb2

from realm_tf import errors
from realm_tf.serving import request_body
from realm_tf.serving import tf_serving_api


def questions(request: Any, limits: request_body.Limits) -> list[str]:
  """Returns the checked questions of a PredictRequest, or RequestError."""
  if list(request.inputs) != [tf_serving_api.INPUT]:
    found = ', '.join(sorted(request.inputs)[:3])[:40] or 'none'
    raise errors.RequestError(
      f'The input must be "{tf_serving_api.INPUT}" alone. Found {found}.'
    )
  tensor = request.inputs[tf_serving_api.INPUT]
  shape = [dim.size for dim in tensor.tensor_shape.dim]
  # tf.make_ndarray would allocate any shape, even of terabytes.
  if tensor.dtype != tf.string.as_datatype_enum or shape != [
    len(tensor.string_val)
  ]:
    raise errors.RequestError(
      f'"{tf_serving_api.INPUT}" must be strings [B]. Found dtype '
      f'{tensor.dtype}, shape {shape}, {len(tensor.string_val)} strings.'
    )
  return tf_serving_api.check_questions(
    [_decoded(value) for value in tensor.string_val], limits
  )


def _decoded(value: bytes) -> str:
  try:
    return value.decode('utf-8')
  except UnicodeDecodeError as error:
    raise errors.RequestError(
      f'A question must be UTF-8. Found a wrong byte {error.start}.'
    ) from error


def fill_tensor(tensor: Any, name: str, values: list) -> None:
  """Copies the output `name` of a response into its protocol buffer."""
  kind = tf_serving_api.OUTPUTS[name]  # Such as 'DT_STRING'.
  dtype = tf.dtypes.as_dtype(types_pb2.DataType.Value(kind))
  if dtype == tf.string:
    flat = np.array(values, object)
    encoded = [text.encode('utf-8', 'replace') for text in flat.flat]
    array = np.array(encoded, object).reshape(flat.shape)
  else:
    array = np.array(values, dtype.as_numpy_dtype)
  tensor.CopyFrom(tf.make_tensor_proto(array, dtype))


def output_names(output_filter: Sequence[str]) -> list[str]:
  """Returns the requested outputs, by default all; or RequestError."""
  unknown = sorted(set(output_filter) - set(tf_serving_api.OUTPUTS))
  if unknown:
    raise errors.RequestError(
      f'Outputs must be some of {", ".join(tf_serving_api.OUTPUTS)}. Found '
      f'{unknown[0][:40]}.'
    )
  return list(output_filter) or list(tf_serving_api.OUTPUTS)
