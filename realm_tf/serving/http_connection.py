"""Limits of HTTP/1 connections, so that no client can exhaust the server.

A connection answers one request at a time. With too many connections, the idle
ones are dropped.
"""

import asyncio
import time
from typing import Any, Optional

from absl import logging
import uvicorn
from uvicorn.protocols.http import flow_control
from uvicorn.protocols.http import httptools_impl

from realm_tf.serving import metrics as metrics_lib

# Key in a request's state: whether the server has too many connections.
IS_FULL = 'is_full'
_MAX_HEADER_BYTES = 32 << 10
# The limit of a whole request is above the limits of `request_body`, which give
# a better reply.
_MAX_REQUEST_BYTES = 32 << 20
# A client must read at least this much of an answer between two checks.
_LEAST_BYTES = 64 << 10
_END_OF_HEADERS = b'\r\n\r\n'


class _Flow(flow_control.FlowControl):
  """Does not resume reading while unparsed bytes wait."""

  def __init__(self, transport: asyncio.Transport, waiting: bytearray):
    super().__init__(transport)
    self._waiting = waiting

  def resume_reading(self) -> None:
    if not self._waiting and not self._transport.is_closing():
      super().resume_reading()


class Protocol(httptools_impl.HttpToolsProtocol):
  """Limits the work, memory and time of one connection.

  The parser gets the next request after the previous answer; until then, the
  client's bytes stay in its own buffers. Connections without a complete request
  or with a client that does not read are closed after a while. httptools,
  unlike h11, does not limit the size of a request; this class does.
  """

  config: 'Config'
  # The current request; after its answer, the last one. Other threads read it,
  # from uvicorn's list, before `connection_made` ends.
  _running: Optional[httptools_impl.RequestResponseCycle] = None

  def connection_made(self, transport: Any) -> None:
    super().connection_made(transport)
    self._waiting = bytearray()  # Bytes that are not parsed yet.
    self.flow = _Flow(transport, self._waiting)
    self._num_bytes = 0  # Bytes of the incoming request so far.
    self._in_headers = True
    self._since = time.monotonic()
    self._look_again(None, 0)
    self.config.make_room(self.connections)

  def data_received(self, data: bytes) -> None:
    self._waiting += data
    self._parse()

  def _parse(self) -> None:
    """Parses waiting bytes up to the end of the first unanswered request."""
    while self._waiting and not self.transport.is_closing():
      if self._is_answering():
        self.flow.pause_reading()
        return
      found = self._waiting.find(_END_OF_HEADERS)
      end = found + len(_END_OF_HEADERS) if found >= 0 else len(self._waiting)
      part = bytes(self._waiting[:end])
      del self._waiting[:end]
      self._num_bytes += end
      super().data_received(part)
      if self._in_headers and self._num_bytes > _MAX_HEADER_BYTES:
        if not self.transport.is_closing():
          self.send_400_response('The headers are too long.')
      elif self._num_bytes > _MAX_REQUEST_BYTES:
        self.transport.close()
    if self.transport.is_closing():
      self._waiting.clear()
    self.flow.resume_reading()

  def _is_answering(self) -> bool:
    cycle = self.cycle
    return bool(self.pipeline) or not (
      cycle is None or cycle.more_body or cycle.response_complete
    )

  def on_headers_complete(self) -> None:
    self._in_headers = False
    headers = sum(len(name) + len(value) for name, value in self.headers)
    if len(self.url) + headers > _MAX_HEADER_BYTES:
      raise ValueError('The headers are too long.')  # httptools reports it.
    # True only if `make_room` found no idle connection to drop.
    is_full = len(self.connections) > self.config.max_connections
    self.scope['state'][IS_FULL] = is_full
    super().on_headers_complete()
    if not self.pipeline:
      self._running = self.cycle

  def on_message_complete(self) -> None:
    self._num_bytes = 0
    self._in_headers = True
    super().on_message_complete()

  def on_response_complete(self) -> None:
    self._since = time.monotonic()
    super().on_response_complete()
    self._running = self.cycle  # At most one request was waiting.
    self._parse()

  @property
  def is_idle(self) -> bool:
    """Whether the client must act: send a request or read an answer."""
    cycle = self._running
    return cycle is None or cycle.response_complete or self.flow.write_paused

  @property
  def use(self) -> tuple[bool, float]:
    """Sort key: connections without a request first, then the oldest ones."""
    return self._running is not None, self._since

  def _look_again(self, cycle: Any, unread: int) -> None:
    self._timer = self.loop.call_later(
      self.config.timeout_keep_alive, self._look, cycle, unread
    )

  def _look(self, cycle: Any, unread: int) -> None:
    """Closes the connection if nothing happened since the last check."""
    now_unread = self.transport.get_write_buffer_size()
    if cycle is self.cycle and self.is_idle:
      if now_unread > max(0, unread - _LEAST_BYTES) and unread:
        self.connections.discard(self)
        self.config.drop(self, 'slow')
      elif not now_unread:
        self.transport.close()
    self._look_again(self.cycle, now_unread)

  def connection_lost(self, exc: Optional[Exception]) -> None:
    self._timer.cancel()
    self._waiting.clear()
    super().connection_lost(exc)
    if self._running is not None and not self._running.response_complete:
      # uvicorn marks only the last request, which may be another one.
      self._running.disconnected = True
      self._running.message_event.set()


class Config(uvicorn.Config):
  """uvicorn's settings, and the limit of connections."""

  def __init__(
    self,
    app: Any,
    metrics: metrics_lib.Metrics,
    max_connections: int,
    **options: Any,
  ):
    super().__init__(app, **options)
    self._metrics, self.max_connections = metrics, max_connections

  def make_room(self, connections: set[Any]) -> None:
    """Drops some idle connections if there are too many connections."""
    if len(connections) > self.max_connections:
      idle = [each for each in connections if each.is_idle]
      # Dropping several at once makes the search rare. The newest ones stay,
      # because their first request may be on its way.
      some = max(1, self.max_connections // 16)
      number = max(0, min(some, len(idle) - 2 * some))
      for each in sorted(idle, key=lambda each: each.use)[:number]:
        self.drop(each, 'idle')
        connections.discard(each)

  def drop(self, connection: Protocol, why: str) -> None:
    logging.warning('Dropped a connection whose client was %s.', why)
    self._metrics.drops.labels(why).inc()
    connection.transport.abort()
