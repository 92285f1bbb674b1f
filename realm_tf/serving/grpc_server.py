"""TensorFlow Serving's gRPC API over the service. The only use of grpc.

  PredictRequest -> [this file: token, limits, errors, metrics] -> service

PredictionService (Predict, GetModelMetadata) and ModelService (GetModelStatus)
with the names, types and error codes of TensorFlow Serving, from the stubs of
`tensorflow-serving-api`: its clients need no change. The batches are those of
the HTTP server beside it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
import concurrent.futures
import threading
import time
from typing import Any

from absl import logging
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import types_pb2

from realm_tf import errors
from realm_tf.serving import access
from realm_tf.serving import batching
from realm_tf.serving import handlers
from realm_tf.serving import request_body
from realm_tf.serving import service as service_lib
from realm_tf.serving import tf_serving_api

try:
  import grpc
  from tensorflow_serving.apis import get_model_metadata_pb2
  from tensorflow_serving.apis import get_model_status_pb2
  from tensorflow_serving.apis import model_service_pb2_grpc
  from tensorflow_serving.apis import predict_pb2
  from tensorflow_serving.apis import prediction_service_pb2_grpc
except ImportError as error:
  raise errors.UserError(
    'grpcio and tensorflow-serving-api must be installed for --grpc_port. '
    f"Found: {error}. Run: pip install 'realm_tf[grpc]'"
  ) from error

_DRAIN_SECS = 60  # Longest wait for calls that have begun.
_OUTPUTS = {**tf_serving_api.ANSWER_OUTPUTS, **tf_serving_api.EVIDENCE_OUTPUTS}
# The codes of HTTP -> those of gRPC. Clients try again by themselves where
# something is UNAVAILABLE.
_CODES = {
  400: grpc.StatusCode.INVALID_ARGUMENT,
  401: grpc.StatusCode.UNAUTHENTICATED,
  404: grpc.StatusCode.NOT_FOUND,
  413: grpc.StatusCode.INVALID_ARGUMENT,
  504: grpc.StatusCode.DEADLINE_EXCEEDED,
}


class _Servicer(
  prediction_service_pb2_grpc.PredictionServiceServicer,
  model_service_pb2_grpc.ModelServiceServicer,
):
  """Both services: each method maps a request to its response.

  Raises:
    RequestError: The client's mistake.
  """

  def __init__(self, service: service_lib.Service, settings: handlers.Settings):
    self._service = service
    self._settings = settings

  async def Predict(self, request, context):
    return await self._guarded('Predict', self._predict, request, context)

  async def GetModelMetadata(self, request, context):
    return await self._guarded(
      'GetModelMetadata', self._metadata, request, context
    )

  async def GetModelStatus(self, request, context):
    return await self._guarded('GetModelStatus', self._status, request, context)

  async def _predict(self, request):
    self._check_spec(request.model_spec)
    questions = _questions(request, self._service.limits)
    names = _output_names(request.output_filter)
    answers = await self._wait(self._service.ask(questions))
    columns = tf_serving_api.format_predict(answers, False, self._service.top_k)
    response = predict_pb2.PredictResponse()
    self._name(response.model_spec, tf_serving_api.SIGNATURE)
    for name in names:
      dtype = _dtype(_OUTPUTS[name])
      response.outputs[name].CopyFrom(
        tf.make_tensor_proto(_encoded(columns['outputs'][name], dtype), dtype)
      )
    return response

  async def _metadata(self, request):
    self._check_spec(request.model_spec)
    if list(request.metadata_field) != ['signature_def']:
      raise request_body.RequestError(
        400,
        'metadata_field must be ["signature_def"]. Got '
        f'{list(request.metadata_field)}.',
      )
    response = get_model_metadata_pb2.GetModelMetadataResponse()
    self._name(response.model_spec)
    found = tf_serving_api.metadata(self._service.version, self._service.top_k)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    for name, signature in found['metadata']['signature_def'][
      'signature_def'
    ].items():
      _fill_signature(signatures.signature_def[name], signature)
    response.metadata['signature_def'].Pack(signatures)
    return response

  async def _status(self, request):
    self._check_spec(request.model_spec)
    response = get_model_status_pb2.GetModelStatusResponse()
    status = response.model_version_status.add()
    status.version = self._service.version
    status.state = get_model_status_pb2.ModelVersionStatus.AVAILABLE
    return response

  def _check_spec(self, spec):
    """Raises RequestError, 404 or 400, unless `spec` names what is served."""
    if spec.name != tf_serving_api.MODEL_NAME:
      raise request_body.RequestError(
        404,
        f'The model is "{tf_serving_api.MODEL_NAME}". Got "{spec.name[:40]}".',
      )
    if spec.version_label:
      raise request_body.RequestError(400, 'Versions have no labels here.')
    version = self._service.version
    if spec.HasField('version') and spec.version.value != version:
      raise request_body.RequestError(
        404, f'The version in use is {version}. Got {spec.version.value}.'
      )
    if spec.signature_name not in ('', tf_serving_api.SIGNATURE):
      raise request_body.RequestError(
        400,
        f'The signature is "{tf_serving_api.SIGNATURE}". Got '
        f'"{spec.signature_name[:40]}".',
      )

  def _name(self, spec, signature_name: str = ''):
    spec.name = tf_serving_api.MODEL_NAME
    spec.version.value = self._service.version
    spec.signature_name = signature_name

  async def _wait(
    self, futures: Sequence[concurrent.futures.Future]
  ) -> list[Any]:
    """Returns the results, unless there is no time left or the client goes."""
    try:
      return await asyncio.wait_for(
        handlers.wait_for_all(futures), self._settings.timeout_secs
      )
    except asyncio.TimeoutError:
      raise request_body.RequestError(
        504, f'No answer within {self._settings.timeout_secs:g} seconds.'
      ) from None
    finally:
      for future in futures:
        future.cancel()  # Questions that still wait are not answered.

  async def _guarded(
    self,
    name: str,
    handle: Callable[[Any], Awaitable[Any]],
    request: Any,
    context: grpc.aio.ServicerContext,
  ) -> Any:
    """Returns the response, or ends the call with the error's code."""
    begun, code = time.monotonic(), grpc.StatusCode.OK
    try:
      metadata = dict(context.invocation_metadata() or ())
      access.check_token(metadata.get('authorization'), self._settings.token)
      return await handle(request)
    except asyncio.CancelledError:  # The client has gone, or its deadline has.
      code = grpc.StatusCode.CANCELLED
      raise
    except Exception as error:
      code, message = _failure(name, error)
      await context.abort(code, message)
    finally:
      self._service.metrics.count_request(
        f'grpc:{name}', code.name, time.monotonic() - begun
      )


class Server:
  """Serves in a thread of its own until it is closed.

  Args:
    service: Answers.
    settings: Time, token and size of a request, as for HTTP.
    address: 'HOST:PORT'; port 0 takes a free one.

  Attributes:
    port: It listens at.

  Raises:
    UserError: The address cannot be had.
  """

  def __init__(
    self,
    service: service_lib.Service,
    settings: handlers.Settings,
    address: str,
  ):
    started = concurrent.futures.Future()
    self._thread = threading.Thread(
      target=lambda: asyncio.run(
        self._serve(_start(service, settings, address), started)
      ),
      name='grpc',
      daemon=True,
    )
    self._thread.start()
    self.port = started.result()

  def close(self) -> None:
    """Takes no more calls; returns when those that have begun are answered."""
    if self._thread.is_alive():
      self._loop.call_soon_threadsafe(self._closing.set)
    self._thread.join()

  async def _serve(self, start, started: concurrent.futures.Future) -> None:
    """Serves until `close`; tells `started` the port, or why there is none."""
    self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
    try:
      server, port = await start
    except errors.UserError as error:
      started.set_exception(error)
      return
    started.set_result(port)
    await self._closing.wait()
    await server.stop(_DRAIN_SECS)


async def _start(
  service: service_lib.Service, settings: handlers.Settings, address: str
) -> tuple[grpc.aio.Server, int]:
  server = grpc.aio.server(
    options=[
      ('grpc.max_receive_message_length', settings.body_bytes),
      ('grpc.so_reuseport', 0),  # A second server is refused, as for HTTP.
    ]
  )
  servicer = _Servicer(service, settings)
  prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
    servicer, server
  )
  model_service_pb2_grpc.add_ModelServiceServicer_to_server(servicer, server)
  try:
    port = server.add_insecure_port(address)
  except RuntimeError as error:
    raise errors.UserError(
      f'--host and --grpc_port must be an address to listen at. {address} '
      'cannot be had. Choose another --grpc_port.'
    ) from error
  await server.start()
  return server, port


def _questions(
  request: predict_pb2.PredictRequest, limits: request_body.Limits
) -> list[str]:
  """Returns the questions of a request; RequestError if it has none."""
  if list(request.inputs) != [tf_serving_api.INPUT]:
    found = ', '.join(sorted(request.inputs)[:3])[:40] or 'none'
    raise request_body.RequestError(
      400, f'The one input is "{tf_serving_api.INPUT}". Got {found}.'
    )
  tensor = request.inputs[tf_serving_api.INPUT]
  shape = [dim.size for dim in tensor.tensor_shape.dim]
  # Not by tf.make_ndarray: it fills whatever shape it is told of.
  if tensor.dtype != tf.string.as_datatype_enum or shape != [
    len(tensor.string_val)
  ]:
    raise request_body.RequestError(
      400,
      f'"{tf_serving_api.INPUT}" must be strings [B]. Got dtype {tensor.dtype}, shape '
      f'{shape}, {len(tensor.string_val)} strings.',
    )
  return tf_serving_api.check_questions(
    [_decoded(value) for value in tensor.string_val], limits
  )


def _decoded(value: bytes) -> str:
  try:
    return value.decode('utf-8')
  except UnicodeDecodeError as error:
    raise request_body.RequestError(
      400, f'A question must be UTF-8. Byte {error.start} is not.'
    ) from error


def _encoded(values: list, dtype: tf.DType) -> np.ndarray:
  """Returns a column of `rest_format` as an array for a tensor of `dtype`."""
  if dtype != tf.string:
    return np.array(values, dtype.as_numpy_dtype)
  flat = np.array(values, object)
  encode = lambda text: text.encode('utf-8', 'replace')
  return np.array([encode(text) for text in flat.flat], object).reshape(
    flat.shape
  )


def _dtype(name: str) -> tf.DType:
  """Returns the dtype that protocol buffers call `name`, as 'DT_STRING'."""
  return tf.dtypes.as_dtype(types_pb2.DataType.Value(name))


def _output_names(output_filter: Sequence[str]) -> list[str]:
  unknown = sorted(set(output_filter) - set(_OUTPUTS))
  if unknown:
    raise request_body.RequestError(
      400, f'The outputs are {", ".join(_OUTPUTS)}. Got {unknown[0][:40]}.'
    )
  return list(output_filter) or list(_OUTPUTS)


def _fill_signature(signature: Any, found: dict[str, Any]) -> None:
  """Copies a signature of REST's metadata into its protocol buffer."""
  signature.method_name = found['method_name']
  for part in ('inputs', 'outputs'):
    for name, tensor in found[part].items():
      info = getattr(signature, part)[name]
      info.name = tensor['name']
      info.dtype = _dtype(tensor['dtype']).as_datatype_enum
      for dim in tensor['tensor_shape']['dim']:
        info.tensor_shape.dim.add().size = int(dim['size'])


def _failure(name: str, error: Exception) -> tuple[grpc.StatusCode, str]:
  """Returns the code and the message of a call that failed."""
  if isinstance(error, request_body.RequestError):
    return _CODES[error.status], error.message
  if isinstance(error, batching.FullError):
    return (
      grpc.StatusCode.UNAVAILABLE,
      'Too many questions wait. Try again later.',
    )
  if isinstance(error, batching.ClosedError):
    return grpc.StatusCode.UNAVAILABLE, 'The server ends.'
  logging.error('%s failed.', name, exc_info=error)
  return grpc.StatusCode.INTERNAL, 'The server failed. Its log says why.'
