"""Tests for realm_tf.serving.connections."""

import http.client
import os
import signal
import subprocess
import sys
import threading
from urllib import parse

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf import process
from realm_tf.serving import connections

_PROCESSES = 12


async def _app(scope, receive, send):
  """An ASGI application that answers 'x'."""
  del scope, receive
  await send({'type': 'http.response.start', 'status': 200, 'headers': []})
  await send({'type': 'http.response.body', 'body': b'x'})


def _serve():
  """Serves until the signal that follows the first answer of 8 connections."""
  listener = connections.listen('127.0.0.1', 0)
  port = listener.getsockname()[1]
  clients = [http.client.HTTPConnection('127.0.0.1', port) for _ in range(8)]

  def ask():
    for client in clients:
      client.request('GET', '/')
      client.getresponse().read()
    os.kill(os.getpid(), signal.SIGTERM)

  thread = threading.Thread(target=ask)
  thread.start()
  connections.Server(_app, listener).run()
  thread.join()


def _serve_in_processes():
  """Exits with the number of processes that did not end well."""
  failed = 0
  for _ in range(_PROCESSES):
    child = os.fork()
    if not child:
      _serve()
      process.leave()
    failed += os.waitpid(child, 0)[1] != 0
  sys.exit(failed)


class ConnectionsTest(parameterized.TestCase):
  @parameterized.parameters('127.0.0.1', '::1')
  def test_a_taken_port_is_refused(self, host):
    with connections.listen(host, 0) as listener:
      port = listener.getsockname()[1]
      with self.assertRaisesRegex(errors.UserError, 'must be a free address'):
        connections.listen(host, port)

  def test_a_browser_opens_the_printed_address(self):
    for host in ('127.0.0.1', '::1'):
      found = parse.urlsplit(connections.url(host, 80))
      self.assertEqual((found.hostname, found.port), (host, 80))

  def test_a_signal_ends_a_server_whose_clients_stay_connected(self):
    ended = subprocess.run(
      [
        sys.executable,
        '-c',
        f'import {__name__} as t; t._serve_in_processes()',
      ],
      capture_output=True,
      timeout=120,
    )
    self.assertEqual((ended.returncode, ended.stderr), (0, b''))


if __name__ == '__main__':
  absltest.main()
