"""Tests that hostile requests get one clear message and do no harm.

The server must answer another request after each of them.
"""

import contextlib
import json
import resource
import socket
import struct

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.serving import handlers
from tests.serving import running_server

_SETTINGS = handlers.Settings(body_timeout_secs=0.2, body_bytes=200_000)
_PREDICT = b'POST /v1/models/realm:predict HTTP/1.1\r\nHost: x\r\n'
_HEALTH = b'GET /healthz HTTP/1.1\r\nHost: x\r\n'
_BODY = b'{"instances": ["who"]}'
_ASK = _PREDICT + b'Content-Length: %d\r\n\r\n%s' % (len(_BODY), _BODY)
_CONTROL = '`$.instances[0]` must not be empty, and have no control'


def _instances(*values):
  return json.dumps({'instances': values}).encode()


class HostileRequestsTest(running_server.FakeServerTestCase):
  def setUp(self):
    super().setUp()
    self.run_fake(_SETTINGS, idle_secs=0.5)

  def tearDown(self):
    self.assertEqual(self.client.predict({'instances': ['?']}).status, 200)
    super().tearDown()

  def _connect(self):
    return self.enter_context(contextlib.closing(self.client.connect()))

  @parameterized.parameters(
    (b'', 400, 'truncated'),
    (b'\xff\xfe{"instances": ["a"]}', 400, 'JSON object in UTF-8'),
    (b'{"instances": ["a\x00b"]}', 400, 'invalid character (byte 17)'),
    (b'{"instances": ["a\\u0000b"]}', 400, _CONTROL),
    (b'{"instances": [" "]}', 400, _CONTROL),
    (b'{"instances": ["\\ud800"]}', 400, 'truncated'),
    (_instances('a', 'x' * 4097), 400, '<= 4096 - at `$.instances[1]`'),
    (b'["a"]', 400, 'Expected `object`, got `array`'),
    (b'{}', 400, 'missing required field `instances`'),
    (b'{"instances": "a"}', 400, 'got `str` - at `$.instances`'),
    (b'{"instances": []}', 400, 'length >= 1 - at `$.instances`'),
    (b'{"instances": ["a"], "pickle": "a"}', 400, 'unknown field `pickle`'),
    (b'{"instances": ["a"], "' + b'x' * 9999 + b'": 1}', 400, 'unknown field'),
    (b'[' * 100_000, 400, 'got `array`'),
    (_instances(*['a'] * 129), 413, 'Found 129'),
    (b'x' * 1_000_000, 413, '200000 bytes'),
  )
  def test_body(self, body, status, message):
    reply = self.client.predict(body)
    self.assertEqual((reply.status, list(reply.json)), (status, ['error']))
    self.assertIn(message, reply.json['error'])
    self.assertLess(len(reply.json['error']), 250)
    self.assertEmpty(self.answerer.batches)

  @parameterized.parameters(
    ('GET', '/../../etc/passwd', 404),
    ('GET', '/page.css/../../service.py', 404),
    ('GET', '/..%2fservice.py', 404),
    ('GET', '/index.html%00', 404),
    ('GET', '/v1/models/..%2f..%2fetc', 404),
    ('GET', '/v1/models/realm:predict', 405),
    ('DELETE', '/api/about', 405),
  )
  def test_path_and_method(self, method, path, status):
    reply = self.client.request(method, path)
    self.assertEqual((reply.status, list(reply.json)), (status, ['error']))

  @parameterized.parameters(
    ('/api/ask', {'question': 1}, 400),
    ('/api/ask', {'question': 'a', 'model_dir': '/etc'}, 400),
    ('/api/article', {'block_id': '0'}, 400),
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
    ('another_protocol', b'\x16\x03\x01\x02\x00\x01\r\n\r\n', b'HTTP/1.1 400 '),
    ('long_headers', _HEALTH + b'X: ' + b'a' * 100_000, b'HTTP/1.1 431 '),
  )
  def test_connection_ends_after(self, sent, reply):
    connection, received = self._connect(), b''
    connection.sendall(sent)
    with contextlib.suppress(ConnectionResetError):
      while part := connection.recv(65536):
        received += part
    self.assertRegex(received, b'^' + reply)

  def test_questions_of_a_disconnected_client_are_not_answered(self):
    first = self.hold()
    connection = self._connect()
    connection.sendall(_ASK)
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

  def test_pipelined_requests_are_answered_in_order(self):
    connection = self._connect()
    # Parts of 7 bytes also cut the end of the headers, and the bodies.
    health = _HEALTH + b'\r\n'
    sent = _ASK + health + _ASK + _ASK + health
    for start in range(0, len(sent), 7):
      connection.sendall(sent[start : start + 7])
    received = b''
    while received.count(b'ok\n') < 2:
      received += connection.recv(65536)
    order = [part.count(b'"answers"') for part in received.split(b'ok\n')]
    self.assertEqual(order, [1, 2, 0])

  def test_a_client_that_only_sends_fills_no_memory_and_is_dropped(self):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    connection = self._connect()
    with self.assertRaises(ConnectionError):
      for _ in range(1000):  # 390 MB; a send that waits 30 s fails, too.
        connection.sendall((_HEALTH + b'\r\n') * 10_000)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    self.assertLess(after - before, 32 << 10)  # KiB.


if __name__ == '__main__':
  absltest.main()
