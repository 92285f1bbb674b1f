"""Tests for realm_tf.serving.http_connection: clients that take too much."""

import contextlib
import threading
import time

from absl.testing import absltest

from realm_tf.serving import handlers
from realm_tf.serving import service as service_lib
from tests.serving import running_server

_GET = b'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
_HEALTH = b'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
_HALF_A_BODY = (
  b'POST /v1/models/realm:predict HTTP/1.1\r\nHost: x\r\n'
  b'Content-Length: 100\r\n\r\n{"in'
)


class HttpConnectionTest(absltest.TestCase):
  def _run(self, idle_secs=60.0, max_connections=None):
    self.drops, self.dropped = [], threading.Event()
    self.answerer = running_server.FakeAnswerer()
    self.addCleanup(self.answerer.gate.set)

    def observe(client):
      self.drops.append(client)
      self.dropped.set()

    self.running = self.enter_context(
      running_server.run(
        service_lib.Service(running_server.fake_live(self.answerer)),
        handlers.Settings(),
        idle_secs,
        observe=observe,
        max_connections=max_connections,
      )
    )
    return self.running.client

  def _connect(self):
    return self.enter_context(contextlib.closing(self.running.client.connect()))

  def test_pipelined_requests_are_answered_in_order(self):
    client = self._run()
    connection = self._connect()
    body = b'{"inputs": ["who"]}'
    ask = (
      b'POST /v1/models/realm:predict HTTP/1.1\r\nHost: x\r\n'
      b'Content-Length: %d\r\n\r\n%s' % (len(body), body)
    )
    # Cut in the middle of what ends the headers, and of a body.
    sent = ask + _HEALTH + ask + ask + _HEALTH.replace(b'x', b'x' * 9)
    for start in range(0, len(sent), 7):
      connection.sendall(sent[start : start + 7])
    received = b''
    while received.count(b'ok\n') < 2:
      received += connection.recv(65536)
    order = [part.count(b'"answers"') for part in received.split(b'ok\n')]
    self.assertEqual(order, [1, 2, 0])
    self.assertEqual(client.get('/healthz').status, 200)

  def test_who_sends_and_does_not_read_fills_no_memory(self):
    client = self._run()
    connection = self._connect()
    connection.settimeout(0.2)
    sent = 0
    with contextlib.suppress(TimeoutError):
      while sent < 1 << 28:
        sent += connection.send(_GET * 10_000)
    self.assertLess(sent, 1 << 28)
    self.assertEqual(client.get('/healthz').status, 200)
    (held,) = (
      each
      for each in self.running.server.server_state.connections
      if each._waiting
    )
    self.assertLessEqual(len(held._waiting), 1 << 19)
    self.assertLessEqual(len(held.pipeline), 1)
    self.assertLess(held.transport.get_write_buffer_size(), 1 << 17)

  def test_who_does_not_read_is_cut_off(self):
    client = self._run(idle_secs=0.2)
    connection = self._connect()
    connection.settimeout(0.5)
    with contextlib.suppress(OSError):
      while True:  # Until it is cut off, or waits.
        connection.send(_GET * 10_000)
    self.assertTrue(self.dropped.wait(30))
    self.assertEqual(self.drops, ['slow'])
    self.assertEqual(client.get('/healthz').status, 200)

  def test_idle_connections_make_room_for_others(self):
    client = self._run(max_connections=8)
    used = self._connect()
    used.sendall(_HEALTH)
    self.assertIn(b'ok', used.recv(65536))
    for _ in range(40):
      self._connect()
    for _ in range(3):
      self.assertEqual(client.get('/healthz').status, 200)
      self.assertEqual(client.predict({'inputs': ['who']}).status, 200)
    self.assertIn('idle', self.drops)
    self.assertLessEqual(len(self.running.server.server_state.connections), 10)
    used.sendall(_HEALTH)  # It was used, so it was worth more.
    self.assertIn(b'ok', used.recv(65536))

  def test_too_many_requests_are_refused_and_health_is_answered(self):
    client = self._run(max_connections=8)
    for _ in range(8):
      self._connect().sendall(_HALF_A_BODY)
    connections = self.running.server.server_state.connections
    deadline = time.monotonic() + 30
    while sum(not each.is_idle for each in list(connections)) < 8:
      self.assertLess(time.monotonic(), deadline)
    reply = client.predict({'inputs': ['who']})
    self.assertEqual((reply.status, list(reply.json)), (503, ['error']))
    self.assertEqual(reply.headers['Connection'], 'close')
    for path in ('/healthz', '/readyz', '/metrics', '/'):
      self.assertEqual(client.get(path).status, 200)

  def test_a_client_that_goes_amid_its_requests_leaves_no_traceback(self):
    client = self._run()
    self.answerer.gate.clear()
    body = b'{"inputs": ["who"]}'
    connection = self._connect()
    connection.sendall(
      b'POST /v1/models/realm:predict HTTP/1.1\r\nHost: x\r\n'
      b'Content-Length: %d\r\n\r\n%s' % (len(body), body) * 3
    )
    self.assertTrue(self.answerer.entered.wait(30))
    with self.assertNoLogs(level='ERROR'):
      connection.close()
      self.answerer.gate.set()
      deadline = time.monotonic() + 30
      while len(self.running.server.server_state.connections) > 0:
        self.assertLess(time.monotonic(), deadline)
      self.assertEqual(client.get('/healthz').status, 200)


if __name__ == '__main__':
  absltest.main()
