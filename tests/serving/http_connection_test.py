"""Tests for realm_tf.serving.http_connection."""

import contextlib

from absl.testing import absltest

from tests.serving import running_server

_GET = b'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
_HEALTH = b'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
_BODY = b'{"inputs": ["who"]}'
_ASK = (
  b'POST /v1/models/realm:predict HTTP/1.1\r\nHost: x\r\n'
  b'Content-Length: %d\r\n\r\n%s' % (len(_BODY), _BODY)
)
_DROPPED = 'realm_dropped_connections_total{client="%s"} 1.0'


class HttpConnectionTest(running_server.FakeServerTestCase):
  def _connect(self):
    return self.enter_context(contextlib.closing(self.client.connect()))

  @property
  def _connections(self):
    return list(self.running.server.server_state.connections)

  def test_pipelined_requests_are_answered_in_order(self):
    client = self.run_fake()
    connection = self._connect()
    # Parts of 7 bytes also cut the end of the headers, and the bodies.
    sent = _ASK + _HEALTH + _ASK + _ASK + _HEALTH.replace(b'x', b'x' * 9)
    for start in range(0, len(sent), 7):
      connection.sendall(sent[start : start + 7])
    received = b''
    while received.count(b'ok\n') < 2:
      received += connection.recv(65536)
    order = [part.count(b'"answers"') for part in received.split(b'ok\n')]
    self.assertEqual(order, [1, 2, 0])
    self.assertEqual(client.get('/healthz').status, 200)

  def test_a_client_that_only_sends_fills_no_memory(self):
    client = self.run_fake()
    connection = self._connect()
    connection.settimeout(0.2)
    sent = 0
    with contextlib.suppress(TimeoutError):
      while sent < 1 << 28:
        sent += connection.send(_GET * 10_000)
    self.assertLess(sent, 1 << 28)
    self.assertEqual(client.get('/healthz').status, 200)
    held = max(self._connections, key=lambda each: len(each._waiting))
    self.assertLessEqual(len(held._waiting), 1 << 19)
    self.assertLessEqual(len(held.pipeline), 1)
    self.assertLess(held.transport.get_write_buffer_size(), 1 << 17)

  def test_a_client_that_does_not_read_is_dropped(self):
    client = self.run_fake(idle_secs=0.2)
    connection = self._connect()
    connection.settimeout(0.5)
    with contextlib.suppress(OSError):
      while True:  # Until the server drops the connection, or a timeout.
        connection.send(_GET * 10_000)
    self.wait_for_metric(_DROPPED % 'slow')
    self.assertEqual(client.get('/healthz').status, 200)

  def test_idle_connections_make_room_for_others(self):
    client = self.run_fake(max_connections=8)
    used = self._connect()
    used.sendall(_HEALTH)
    self.assertIn(b'ok', used.recv(65536))
    for _ in range(40):
      self._connect()
    for _ in range(3):
      self.assertEqual(client.get('/healthz').status, 200)
      self.assertEqual(client.predict({'inputs': ['who']}).status, 200)
    metrics = client.get('/metrics').text
    self.assertIn('realm_dropped_connections_total{client="idle"}', metrics)
    self.assertLessEqual(len(self._connections), 10)
    used.sendall(_HEALTH)  # Used connections are dropped last.
    self.assertIn(b'ok', used.recv(65536))

  def test_too_many_requests_are_refused_and_health_is_answered(self):
    client = self.run_fake(max_connections=8)
    for _ in range(8):
      self._connect().sendall(_ASK[:-5])
    self.wait_until(
      lambda: sum(not each.is_idle for each in self._connections) == 8
    )
    reply = client.predict({'inputs': ['who']})
    self.assertEqual((reply.status, list(reply.json)), (503, ['error']))
    self.assertEqual(reply.headers['Connection'], 'close')
    for path in ('/healthz', '/readyz', '/metrics', '/'):
      self.assertEqual(client.get(path).status, 200)

  def test_a_disconnect_between_requests_leaves_no_traceback(self):
    client = self.run_fake()
    self.answerer.gate.clear()
    connection = self._connect()
    connection.sendall(_ASK * 3)
    self.assertTrue(self.answerer.entered.wait(running_server.SECS))
    with self.assertNoLogs(level='ERROR'):
      connection.close()
      self.answerer.gate.set()
      self.wait_until(lambda: not self._connections)
      self.assertEqual(client.get('/healthz').status, 200)


if __name__ == '__main__':
  absltest.main()
