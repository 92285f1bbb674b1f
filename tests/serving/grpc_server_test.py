"""Tests for realm_tf.serving.grpc_server, with TensorFlow Serving's client."""

import threading

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf

from realm_tf import errors
from realm_tf.serving import handlers
from realm_tf.serving import request_body
from tests.serving import running_server

try:
  import grpc
  from tensorflow_serving.apis import get_model_metadata_pb2
  from tensorflow_serving.apis import get_model_status_pb2
  from tensorflow_serving.apis import model_service_pb2_grpc
  from tensorflow_serving.apis import predict_pb2
  from tensorflow_serving.apis import prediction_service_pb2_grpc

  from realm_tf.serving import grpc_server
except ImportError:
  grpc = None

_LIMITS = request_body.Limits(questions=4, characters=100)
_TOKEN = 'a-token-of-24-characters'
_SECS = 30  # Timeout of a step that should take far less.


def _request(*questions, **spec):
  request = predict_pb2.PredictRequest()
  request.model_spec.name = spec.get('name', 'realm')
  request.model_spec.signature_name = spec.get('signature_name', '')
  if 'version' in spec:
    request.model_spec.version.value = spec['version']
  request.inputs['questions'].CopyFrom(
    tf.make_tensor_proto(list(questions), tf.string, [len(questions)])
  )
  return request


def _changed(**fields):
  """Returns a request with changed fields of its input "questions"."""
  request = _request('who')
  for name, value in fields.items():
    if name == 'shape':
      request.inputs['questions'].tensor_shape.dim[0].size = value
    elif name == 'bytes':
      request.inputs['questions'].string_val[0] = value
    elif name == 'output':
      request.output_filter.append(value)
    elif value is None:
      del request.inputs['questions']
    else:
      request.inputs['questions'].CopyFrom(tf.make_tensor_proto(value))
  return request


@absltest.skipIf(grpc is None, 'tensorflow-serving-api is not installed.')
class GrpcServerTest(parameterized.TestCase):
  def _run(self, **settings):
    self.answerer = running_server.FakeAnswerer()
    self.service = running_server.fake_service(
      self.answerer, limits=_LIMITS, queue_size=4
    )
    self.server = grpc_server.Server('127.0.0.1', 0)
    self.server.start(self.service, handlers.Settings(**settings))
    self.addCleanup(self.service.close)
    self.addCleanup(self.server.close)
    self.addCleanup(self.answerer.gate.set)
    channel = grpc.insecure_channel(f'127.0.0.1:{self.server.port}')
    self.addCleanup(channel.close)
    self.models = model_service_pb2_grpc.ModelServiceStub(channel)
    return prediction_service_pb2_grpc.PredictionServiceStub(channel)

  def _assert_code(self, code, call):
    with self.assertRaises(grpc.RpcError) as caught:
      call()
    self.assertEqual(caught.exception.code(), code)
    return caught.exception.details()

  def test_predict_answers_with_the_saved_model_s_outputs(self):
    response = self._run().Predict(_request('who', 'none'), _SECS)
    self.assertEqual(response.model_spec.version.value, 3)
    outputs = {
      name: tf.make_ndarray(tensor).tolist()
      for name, tensor in response.outputs.items()
    }
    self.assertEqual(outputs['answers'], [b'yes', b''])
    self.assertEqual(outputs['scores'], [2.5, -1e9])
    self.assertEqual(outputs['block_ids'], [[7, -1], [-1, -1]])
    self.assertEqual(outputs['texts'], [[b'Oh yes.', b''], [b'', b'']])
    self.assertEqual(self.answerer.batches, [['who', 'none']])

  def test_outputs_may_be_chosen(self):
    request = _request('who')
    request.output_filter.append('answers')
    self.assertEqual(
      list(self._run().Predict(request, _SECS).outputs), ['answers']
    )

  def test_metadata_has_the_saved_model_s_signature(self):
    request = get_model_metadata_pb2.GetModelMetadataRequest()
    request.model_spec.name = 'realm'
    request.metadata_field.append('signature_def')
    response = self._run().GetModelMetadata(request, _SECS)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    response.metadata['signature_def'].Unpack(signatures)
    signature = signatures.signature_def['serving_default']
    self.assertEqual(signature.inputs['questions'].dtype, tf.string)
    self.assertEqual(signature.outputs['block_ids'].dtype, tf.int32)
    dims = signature.outputs['block_ids'].tensor_shape.dim
    self.assertEqual([dim.size for dim in dims], [-1, 2])

  def _status(self, name, secs=_SECS):
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = name
    return self.models.GetModelStatus(request, secs).model_version_status

  def test_status(self):
    self._run()
    (status,) = self._status('realm')
    self.assertEqual((status.version, status.state), (3, 30))
    self._assert_code(grpc.StatusCode.NOT_FOUND, lambda: self._status('bert'))

  @parameterized.parameters(
    (lambda: _request('who', name='bert'), 'NOT_FOUND', 'Found "bert".'),
    (lambda: _request('who', version=2), 'NOT_FOUND', 'be 3. Found 2.'),
    (lambda: _request('who', signature_name='x'), '', 'Found "x".'),
    (lambda: _changed(tensor=None), '', 'Found none.'),
    (lambda: _changed(tensor=[1]), '', 'must be strings [B]'),
    (lambda: _changed(shape=10**12), '', 'must be strings [B]'),
    (lambda: _changed(bytes=b'\xff'), '', 'wrong byte 0.'),
    (lambda: _changed(output='logits'), '', 'Found logits.'),
    # The same limits as over HTTP.
    (lambda: _request(), '', 'Found none.'),
    (lambda: _request(*['who'] * 5), '', 'at most 4 questions. Found 5.'),
    (lambda: _request('x' * 101), '', 'at most 100 characters. Found 101.'),
    (lambda: _request('\x00'), '', 'control'),
  )
  def test_bad_requests_are_refused(self, make, code, message):
    client = self._run()
    details = self._assert_code(
      grpc.StatusCode[code or 'INVALID_ARGUMENT'],
      lambda: client.Predict(make(), _SECS),
    )
    self.assertIn(message, details)
    self.assertEmpty(self.answerer.batches)

  def test_calls_need_the_token(self):
    client = self._run(token=_TOKEN)
    self._assert_code(
      grpc.StatusCode.UNAUTHENTICATED,
      lambda: client.Predict(_request('who'), _SECS),
    )
    metadata = [('authorization', f'Bearer {_TOKEN}')]
    client.Predict(_request('who'), _SECS, metadata=metadata)

  def test_a_client_sees_no_details_of_a_failure(self):
    client = self._run()
    details = self._assert_code(
      grpc.StatusCode.INTERNAL, lambda: client.Predict(_request('break'), _SECS)
    )
    self.assertNotIn('Broken', details)

  def test_a_full_queue_and_a_closed_one_are_unavailable(self):
    client = self._run()
    ask = lambda: client.Predict(_request('who'), _SECS)
    first = self._held_up(client)
    self.service.ask(['x'] * 4)
    self._assert_code(grpc.StatusCode.UNAVAILABLE, ask)
    self.answerer.gate.set()
    first.result(_SECS)
    self.service.close()
    self._assert_code(grpc.StatusCode.UNAVAILABLE, ask)

  def _held_up(self, client):
    """Blocks the model with a question; returns its future response."""
    self.answerer.gate.clear()
    first = client.Predict.future(_request('first'), _SECS)
    self.assertTrue(self.answerer.entered.wait(_SECS))
    return first

  def _cancelled_by_the_server(self):
    """Returns an event that is set when a future of `ask` is cancelled."""
    cancelled, ask = threading.Event(), self.service.ask

    def watched(questions):
      futures = ask(questions)
      for future in futures:
        future.add_done_callback(
          lambda done: done.cancelled() and cancelled.set()
        )
      return futures

    self.service.ask = watched
    return cancelled

  def test_a_cancelled_call_is_not_answered(self):
    client = self._run()
    first = self._held_up(client)
    cancelled = self._cancelled_by_the_server()
    second = client.Predict.future(_request('second'), _SECS)
    while b'realm_queue_length 1.0' not in self.service.metrics.text():
      pass
    second.cancel()
    self.assertTrue(cancelled.wait(_SECS))
    self.answerer.gate.set()
    first.result(_SECS)
    client.Predict(_request('third'), _SECS)
    self.assertEqual(self.answerer.batches, [['first'], ['third']])

  def test_a_call_after_its_deadline_is_not_answered(self):
    client = self._run()
    first = self._held_up(client)
    cancelled = self._cancelled_by_the_server()
    self._assert_code(
      grpc.StatusCode.DEADLINE_EXCEEDED,
      lambda: client.Predict(_request('second'), 0.2),
    )
    self.assertTrue(cancelled.wait(_SECS))
    self.answerer.gate.set()
    first.result(_SECS)
    client.Predict(_request('third'), _SECS)
    self.assertEqual(self.answerer.batches, [['first'], ['third']])

  def test_timeout_secs_is_a_deadline(self):
    client = self._run(timeout_secs=0.05)
    self.answerer.gate.clear()
    details = self._assert_code(
      grpc.StatusCode.DEADLINE_EXCEEDED,
      lambda: client.Predict(_request('who'), _SECS),
    )
    self.assertEqual(details, 'No answer within 0.05 seconds.')

  def test_a_taken_port_is_refused(self):
    self._run()
    with self.assertRaisesRegex(errors.UserError, 'Choose another --grpc_port'):
      grpc_server.Server('127.0.0.1', self.server.port)

  def test_calls_are_counted_by_code(self):
    client = self._run()
    client.Predict(_request('who'), _SECS)
    self.server.close()
    self.assertIn(
      'realm_requests_total{code="OK",route="grpc:Predict"} 1.0',
      self.service.metrics.text().decode(),
    )

  def test_running_calls_are_answered_before_close_returns(self):
    client = self._run()
    first = self._held_up(client)
    wait = running_server.in_thread(self.server.close)
    with self.assertRaises(grpc.RpcError):
      self._call_until_it_fails()
    self.answerer.gate.set()
    response = first.result(_SECS)
    wait()
    self.assertEqual(
      tf.make_ndarray(response.outputs['answers']).tolist(), [b'yes']
    )

  def _call_until_it_fails(self):
    while True:
      # A call during the shutdown may get no reply at all; `gate` waits 30 s.
      self._status('realm', secs=1)


if __name__ == '__main__':
  absltest.main()
