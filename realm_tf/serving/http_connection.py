"""A connection over HTTP/1: what its client can make the server do and hold.

  bytes -> one request after the other -> application -> as much as is read

When there are too many connections, those that wait for their clients go.
"""

import asyncio
import time
from typing import Any, Optional

from absl import logging
import uvicorn
from uvicorn.protocols.http import flow_control
from uvicorn.protocols.http import httptools_impl

from realm_tf.serving import metrics as metrics_lib

# In a request's state: its connection is one too many.
IS_FULL = 'is_full'
_MAX_HEADER_BYTES = 32 << 10
# Whole requests; far more than is read of a body that is too large.
_MAX_REQUEST_BYTES = 32 << 20
# A client that takes less of an answer between two looks is cut off.
_LEAST_BYTES = 64 << 10
_END_OF_HEADERS = b'\r\n\r\n'


class _Flow(flow_control.FlowControl):
  """Lets nothing more come in while bytes of requests wait for their turn."""

  def __init__(self, transport: asyncio.Transport, waiting: bytearray):
    super().__init__(transport)
    self._waiting = waiting

  def resume_reading(self) -> None:
    if not self._waiting and not self._transport.is_closing():
      super().resume_reading()


class Protocol(httptools_impl.HttpToolsProtocol):
  """Bounds what a connection can make the server do, hold and wait for.

  The parser gets the next request when the one before is answered; until then,
  what is sent stays in the client's buffers. A connection on which nothing
  completes for too long ends, and so does one whose client does not read. The
  parser, unlike h11, does not bound the size of a request; this class does.
  """

  config: 'Config'

  def connection_made(self, transport: Any) -> None:
    super().connection_made(transport)
    self._waiting = bytearray()  # Not parsed yet.
    self.flow = _Flow(transport, self._waiting)
    # The request that is being answered.
    self._running: Optional[httptools_impl.RequestResponseCycle] = None
    self._num_bytes = 0  # Of the request that comes in.
    self._in_headers = True
    self._since = time.monotonic()
    self._look_again(None, 0)
    self.config.make_room(self.connections)

  def data_received(self, data: bytes) -> None:
    self._waiting += data
    self._parse()

  def _parse(self) -> None:
    """Parses what waits up to the end of a request that is not answered."""
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
      raise ValueError('The headers are too long.')  # Becomes the parser's.
    # If none of the others was idle, this one is one too many.
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
    self._running = self.cycle  # No more than one waited.
    self._parse()

  @property
  def is_idle(self) -> bool:
    """Whether it waits for its client, to send a request or read an answer."""
    cycle = self._running
    return cycle is None or cycle.response_complete or self.flow.write_paused

  @property
  def use(self) -> tuple[bool, float]:
    """Its worth: the least is dropped first for another connection."""
    return self._running is not None, self._since

  def _look_again(self, cycle: Any, unread: int) -> None:
    self._timer = self.loop.call_later(
      self.config.timeout_keep_alive, self._look, cycle, unread
    )

  def _look(self, cycle: Any, unread: int) -> None:
    """Ends the connection if nothing happened on it since the last look."""
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
      self._running.disconnected = True  # It may not be the last.
      self._running.message_event.set()


class Config(uvicorn.Config):
  """uvicorn's settings, and which connections make room for others."""

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
    """Drops idle connections if there are too many."""
    if len(connections) > self.max_connections:
      idle = [each for each in connections if each.is_idle]
      # Some at once, so that they are seldom looked for. The newest stay: their
      # first request may be on its way.
      some = max(1, self.max_connections // 16)
      number = max(0, min(some, len(idle) - 2 * some))
      for each in sorted(idle, key=lambda each: each.use)[:number]:
        self.drop(each, 'idle')
        connections.discard(each)

  def drop(self, connection: Protocol, why: str) -> None:
    logging.warning('Dropped a connection whose client was %s.', why)
    self._metrics.drops.labels(why).inc()
    connection.transport.abort()
