"""Tests that hostile requests get one clear message and do no harm.

The server must answer another request after each of them.
"""

import contextlib
import json
import socket
import struct

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.serving import handlers
from realm_tf.serving import request_body
from tests.serving import running_server

_LIMITS = request_body.Limits(questions=128, characters=1000)
_SETTINGS = handlers.Settings(body_timeout_secs=0.2, body_bytes=200_000)
_PREDICT = b'POST /v1/models/realm:predict HTTP/1.1\r\nHost: x\r\n'
_HEALTH = b'GET /healthz HTTP/1.1\r\nHost: x\r\n'


def _instances(*values):
  return json.dumps({'instances': values}).encode()


class HostileRequestsTest(running_server.FakeServerTestCase):
  def setUp(self):
    super().setUp()
    self.run_fake(_SETTINGS, _LIMITS, idle_secs=0.3)

  def tearDown(self):
    self.assertEqual(self.client.predict({'inputs': ['still?']}).status, 200)
    super().tearDown()

  @parameterized.parameters(
    (b'', 400, 'Found no body'),
    (b' \n', 400, 'Found no body'),
    (b'{"instances": [', 400, 'must be JSON'),
    (b'\xff\xfe{"instances": ["a"]}', 400, 'UTF-16'),
    (b'{"instances": ["a\xc3"]}', 400, 'not UTF-8'),
    (b'{"instances": ["a\x00b"]}', 400, 'must be JSON'),
    (b'{"instances": ["a\\u0000b"]}', 400, 'control characters'),
    (b'{"instances": ["\\ud800"]}', 400, 'half of a surrogate pair'),
    (b'{"instances": ["' + b'x' * 1001 + b'"]}', 400, 'Found 1001'),
    (b'{"instances": [NaN]}', 400, 'Found a number'),
    (b'{"instances": [' + b'9' * 5000 + b']}', 400, '4300 digits'),
    (b'["a"]', 400, 'Found a list'),
    (b'null', 400, 'Found null'),
    (b'{}', 400, 'either "instances" or "inputs"'),
    (b'{"instances": ["a"], "inputs": ["a"]}', 400, 'either'),
    (b'{"instances": "a"}', 400, 'Found a string'),
    (b'{"instances": []}', 400, 'must not be empty'),
    (b'{"instances": [1]}', 400, 'Found a number'),
    (b'{"instances": [true]}', 400, 'Found a boolean'),
    (b'{"instances": [["a"]]}', 400, 'Found a list'),
    (b'{"instances": [{"query": "a"}]}', 400, 'Found "query"'),
    (b'{"instances": [{}]}', 400, 'Found none'),
    (b'{"instances": [" "]}', 400, 'must not be empty'),
    (b'{"instances": [{"b64": "%%"}]}', 400, 'base64'),
    (b'{"instances": [{"b64": "/w=="}]}', 400, 'base64'),
    (b'{"instances": [{"b64": 1}]}', 400, 'base64'),
    (b'{"inputs": "a"}', 400, 'must be a list'),
    (b'{"inputs": {"questions": ["a"], "x": 1}}', 400, 'Found "questions"'),
    (b'{"instances": ["a"], "pickle": "a"}', 400, 'Found "pickle"'),
    (b'{"instances": ["a"], "signature_name": "x"}', 400, 'Found "x"'),
    (b'{"instances": ["a"], "signature_name": [1]}', 400, 'Found [1]'),
    (b'{"inputs": ' + b'[' * 9 + b']' * 9 + b'}', 400, 'levels'),
    (b'[' * 100_000, 400, 'levels'),
    (b'{"a":' * 20_000, 400, 'levels'),
    (b'"' + b'\\"' * 90_000 + b'[' * 9, 400, 'must be JSON'),
    (_instances(*['a'] * 129), 413, 'Found 129'),
    (_instances(*['a'] * 10_000), 413, 'Found 10000'),
    (b'x' * 1_000_000, 413, '200000 bytes'),
    (_instances('a' * 1_000_000), 413, '200000 bytes'),
  )
  def test_body(self, body, status, message):
    reply = self.client.predict(body)
    self.assertEqual((reply.status, list(reply.json)), (status, ['error']))
    self.assertIn(message, reply.json['error'])
    self.assertLess(len(reply.json['error']), 200)
    self.assertEmpty(self.answerer.batches)

  def test_brackets_in_strings_do_not_count_as_levels(self):
    reply = self.client.predict(_instances('[' * 50 + '\\"{{{'))
    self.assertEqual(reply.status, 200)
    self.assertEqual(self.answerer.batches, [['[' * 50 + '\\"{{{']])

  def test_b64_is_text(self):
    self.client.predict({'instances': [{'b64': 'd2hvIMOp'}]})
    self.assertEqual(self.answerer.batches, [['who é']])

  @parameterized.parameters(
    '/../../etc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/page.css/../../service.py',
    '/..%2fservice.py',
    '//etc/passwd',
    '/index.html%00',
    '/v1/models/..%2f..%2fetc',
    '/v1/models/other',
    '/v1/models/realm/versions/-1',
    '/v1/models/realm/versions/99999999999999999999999',
    '/v1/models/realm/versions/x',
    '/v1/models/realm/labels/stable',
  )
  def test_path(self, path):
    reply = self.client.get(path)
    self.assertEqual((reply.status, list(reply.json)), (404, ['error']))

  @parameterized.parameters(
    ('GET', '/v1/models/realm:predict'),
    ('DELETE', '/v1/models/realm'),
    ('PUT', '/'),
  )
  def test_method(self, method, path):
    reply = self.client.request(method, path)
    self.assertEqual((reply.status, list(reply.json)), (405, ['error']))

  @parameterized.parameters(
    ('/api/ask', {'question': 1}, 400),
    ('/api/ask', {'question': 'a', 'model_dir': '/etc'}, 400),
    ('/api/ask', {}, 400),
    ('/api/complete', {'sentence': '[MASK]'}, 404),  # No --pretrained_dir.
    ('/api/edit', {'block_id': 0, 'text': 'x'}, 403),  # No --allow_edits.
  )
  def test_page_requests(self, path, body, status):
    self.assertEqual(self.client.post(path, body).status, status)

  @parameterized.named_parameters(
    (
      'half_a_body',
      _PREDICT + b'Content-Length: 100\r\n\r\n{"inst',
      rb'HTTP/1.1 408 [^~]*must arrive within 0.2 seconds',
    ),
    ('nothing', b'', rb'$'),
    ('half_of_the_headers', _HEALTH + b'X-A: ', rb'$'),
    ('used_once', _HEALTH + b'\r\nGET /', rb'HTTP/1.1 200 [^~]*ok\n$'),
    (
      'another_protocol',
      b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n',
      b'HTTP/1.1 400 ',
    ),
    (
      'headers_without_end',
      _HEALTH + b'X: ' + b'a' * 100_000,
      b'HTTP/1.1 400 ',
    ),
    (
      'headers_too_long',
      _HEALTH + b'X: ' + b'a' * 40_000 + b'\r\n\r\n',
      b'HTTP/1.1 400 ',
    ),
  )
  def test_connection_ends_after(self, sent, reply):
    with contextlib.closing(self.client.connect()) as connection:
      connection.sendall(sent)
      self.assertRegex(_read_all(connection), b'^' + reply)

  def test_questions_of_a_disconnected_client_are_not_answered(self):
    first = self.hold()
    connection = self.client.connect()
    body = b'{"inputs": ["gone"]}'
    connection.sendall(
      _PREDICT + b'Content-Length: %d\r\n\r\n%s' % (len(body), body)
    )
    self.wait_for_queue(1)
    # A reset, as after the kill of a client.
    connection.setsockopt(
      socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0)
    )
    connection.close()
    self.wait_for_metric(
      'realm_requests_total{code="499",route="/v1/models/realm:predict"} 1.0'
    )
    self.answerer.gate.set()
    self.assertEqual(first().status, 200)
    self.assertEqual(self.answerer.batches, [['0']])


def _read_all(connection):
  """Returns all bytes until the other side closes or resets the connection."""
  received = b''
  with contextlib.suppress(ConnectionResetError):
    while part := connection.recv(65536):
      received += part
  return received


if __name__ == '__main__':
  absltest.main()
