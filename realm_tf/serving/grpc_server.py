"""TensorFlow Serving's gRPC API over the service; the only file with grpc.

It has Predict, GetModelMetadata and GetModelStatus with TensorFlow Serving's
names, types and error codes, so clients need no change. Its questions share
batches with the HTTP server.
"""

import asyncio
from collections.abc import Callable, Coroutine
import threading
import time
from typing import Any

from absl import logging

from realm_tf import errors
from realm_tf.serving import access
from realm_tf.serving import grpc_messages
from realm_tf.serving import handlers
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

_MAX_CALLS = 256  # Concurrent calls of a connection; more wait at the client.
_MAX_CONNECTIONS = 128
_DRAIN_SECS = 60  # Longest wait for running calls.
# HTTP's codes -> gRPC's codes. Clients repeat UNAVAILABLE calls by themselves.
_CODES = {
  400: grpc.StatusCode.INVALID_ARGUMENT,
  401: grpc.StatusCode.UNAUTHENTICATED,
  404: grpc.StatusCode.NOT_FOUND,
  413: grpc.StatusCode.INVALID_ARGUMENT,
  429: grpc.StatusCode.UNAVAILABLE,
  503: grpc.StatusCode.UNAVAILABLE,
}


class _Servicer(
  prediction_service_pb2_grpc.PredictionServiceServicer,
  model_service_pb2_grpc.ModelServiceServicer,
):
  """Both gRPC services."""

  def __init__(self, service: service_lib.Service, settings: handlers.Settings):
    self._service = service
    self._settings = settings

  async def Predict(self, request: Any, context: Any) -> Any:
    return await self._guarded('Predict', self._predict, request, context)

  async def GetModelMetadata(self, request: Any, context: Any) -> Any:
    return await self._guarded(
      'GetModelMetadata', self._metadata, request, context
    )

  async def GetModelStatus(self, request: Any, context: Any) -> Any:
    return await self._guarded('GetModelStatus', self._status, request, context)

  async def _predict(self, request: Any) -> predict_pb2.PredictResponse:
    questions = grpc_messages.questions(request, self._service.limits)
    names = grpc_messages.output_names(request.output_filter)
    answers = await handlers.results_of(self._service.ask(questions))
    columns = tf_serving_api.format_predict(answers, False, self._service.top_k)
    response = predict_pb2.PredictResponse()
    self._name(response.model_spec, tf_serving_api.SIGNATURE)
    for name in names:
      grpc_messages.fill_tensor(
        response.outputs[name], name, columns['outputs'][name]
      )
    return response

  async def _metadata(
    self, request: Any
  ) -> get_model_metadata_pb2.GetModelMetadataResponse:
    fields = list(request.metadata_field)
    if fields != ['signature_def']:
      raise errors.RequestError(
        f'metadata_field must be ["signature_def"]. Found {fields}.'
      )
    response = get_model_metadata_pb2.GetModelMetadataResponse()
    self._name(response.model_spec)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    signatures.signature_def[tf_serving_api.SIGNATURE].CopyFrom(
      tf_serving_api.signature(self._service.top_k)
    )
    response.metadata['signature_def'].Pack(signatures)
    return response

  async def _status(
    self, request: Any
  ) -> get_model_status_pb2.GetModelStatusResponse:
    del request
    response = get_model_status_pb2.GetModelStatusResponse()
    response.model_version_status.add(
      version=self._version,
      state=get_model_status_pb2.ModelVersionStatus.AVAILABLE,
    )
    return response

  @property
  def _version(self) -> int:
    return self._service.versions.params_step

  def _check_spec(self, spec: Any) -> None:
    """Raises RequestError, 404 or 400, unless `spec` fits the served model."""
    name, signature = tf_serving_api.MODEL_NAME, tf_serving_api.SIGNATURE
    version = spec.version.value if spec.HasField('version') else self._version
    if spec.name != name:
      raise errors.RequestError(
        f'The model must be "{name}". Found "{spec.name[:40]}".', status=404
      )
    if spec.version_label:
      raise errors.RequestError('A version must be a number, not a label.')
    if version != self._version:
      raise errors.RequestError(
        f'The version must be {self._version}. Found {version}.', status=404
      )
    if spec.signature_name not in ('', signature):
      raise errors.RequestError(
        f'The signature must be "{signature}". Found '
        f'"{spec.signature_name[:40]}".'
      )

  def _name(self, spec: Any, signature_name: str = '') -> None:
    spec.name = tf_serving_api.MODEL_NAME
    spec.version.value = self._version
    spec.signature_name = signature_name

  async def _guarded(
    self,
    name: str,
    handle: Callable[[Any], Coroutine[Any, Any, Any]],
    request: Any,
    context: grpc.aio.ServicerContext,
  ) -> Any:
    """Returns the response, or aborts the call with the error's code."""
    begun, code = time.monotonic(), grpc.StatusCode.OK
    timeout_secs = self._settings.timeout_secs
    try:
      metadata = dict(context.invocation_metadata() or ())
      access.check_token(metadata.get('authorization'), self._settings.token)
      self._check_spec(request.model_spec)
      return await asyncio.wait_for(handle(request), timeout_secs)
    except asyncio.CancelledError:  # By the client or its deadline.
      code = grpc.StatusCode.CANCELLED
      raise
    except asyncio.TimeoutError:
      code = grpc.StatusCode.DEADLINE_EXCEEDED
      await context.abort(code, f'No answer within {timeout_secs:g} seconds.')
    except errors.RequestError as error:
      code = _CODES[error.status]
      await context.abort(code, error.message)
    except Exception as error:
      logging.error('%s failed.', name, exc_info=error)
      code = grpc.StatusCode.INTERNAL
      await context.abort(code, 'The server failed. Its log says why.')
    finally:
      self._service.metrics.count(f'grpc:{name}', code.name, begun)


class Server:
  """A gRPC server in a thread of its own.

  It binds `host` and `port` at once, or raises UserError. Port 0 takes a free
  one, and the attribute `port` has its number.
  """

  def __init__(self, host: str, port: int):
    self._loop = asyncio.new_event_loop()
    self._thread = threading.Thread(
      target=self._loop.run_forever, name='grpc', daemon=True
    )
    self._thread.start()
    self._server, self.port = self._run(_bind(host, port))

  def start(
    self, service: service_lib.Service, settings: handlers.Settings
  ) -> None:
    """Starts to answer calls, with the same settings as the HTTP server."""
    servicer = _Servicer(service, settings)
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
      servicer, self._server
    )
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(
      servicer, self._server
    )
    self._run(self._server.start())

  def close(self) -> None:
    """Refuses new calls and returns after all running ones are answered."""
    if self._thread.is_alive():
      self._run(self._server.stop(_DRAIN_SECS))
      self._loop.call_soon_threadsafe(self._loop.stop)
      self._thread.join()

  def _run(self, work: Coroutine) -> Any:
    return asyncio.run_coroutine_threadsafe(work, self._loop).result()


async def _bind(host: str, port: int) -> tuple[grpc.aio.Server, int]:
  server = grpc.aio.server(
    options=[
      ('grpc.max_receive_message_length', handlers.Settings().body_bytes),
      ('grpc.so_reuseport', 0),  # A second server on the port must fail.
      ('grpc.max_concurrent_streams', _MAX_CALLS),
      ('grpc.max_allowed_incoming_connections', _MAX_CONNECTIONS),
      ('grpc.server_handshake_timeout_ms', 10_000),
      ('grpc.max_connection_idle_ms', 300_000),
    ],
    maximum_concurrent_rpcs=4 * _MAX_CALLS,
  )
  address = f'[{host}]:{port}' if ':' in host else f'{host}:{port}'
  try:
    return server, server.add_insecure_port(address)
  except RuntimeError as error:
    raise errors.UserError(
      f'--host and --grpc_port must be a free address. Found {address}, which '
      'is in use or unknown. Choose another --grpc_port.'
    ) from error
