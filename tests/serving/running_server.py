"""A server in a thread, on a free port of loopback, and a client of it."""

from collections.abc import Callable, Mapping, Sequence
import contextlib
import http.client
import json
import socket
import threading
from typing import Any, NamedTuple, Optional

from realm_tf.answering import answer as answer_lib
from realm_tf.retrieval import hot_swap
from realm_tf.serving import handlers
from realm_tf.serving import http_server
from realm_tf.serving import served_model
from realm_tf.serving import service as service_lib
from realm_tf.serving import uvicorn_server

_TIMEOUT_SECS = 30  # Far more than anything takes.


class FakeFinetuning(NamedTuple):
  """The part of a config that the service reads."""

  eval_batch_size: int = 16


class FakeAnswerer:
  """Answers 'yes' from block 7; tells what it was asked, and can be held up.

  Attributes:
    batches: The questions of each call.
    gate: Calls wait until it is set.
    entered: Set whenever a call has begun.
  """

  num_read = 2
  finetuning = FakeFinetuning()

  def __init__(self, answer: str = 'yes'):
    self._answer = answer
    self.batches: list[list[str]] = []
    self.gate = threading.Event()
    self.gate.set()
    self.entered = threading.Event()

  def answer(self, questions: Sequence[str]) -> list[answer_lib.Answer]:
    self.batches.append(list(questions))
    self.entered.set()
    if not self.gate.wait(_TIMEOUT_SECS):
      raise TimeoutError('Nobody opened the gate.')
    if 'break' in questions:
      raise ValueError('Broken.')
    evidence = answer_lib.Evidence(
      7, 'title', f'Oh {self._answer}.', 3, 6, self._answer, 1.0, 2.5, 'x'
    )
    return [
      answer_lib.Answer(question, self._answer, 2.5, [evidence], 0.75, 0.25)
      if question != 'none'
      else answer_lib.Answer(question, '', None, [])
      for question in questions
    ]


class FakeTable:
  """Of 9 blocks."""

  num_blocks = 9


class Reply(NamedTuple):
  """What came back; `json` is None where it is none."""

  status: int
  json: Any
  text: str
  headers: Mapping[str, str]


class Client:
  """Asks a server that runs."""

  def __init__(self, port: int):
    self.port = port

  def request(
    self,
    method: str,
    path: str,
    body: Any = None,
    headers: Optional[Mapping[str, str]] = None,
  ) -> Reply:
    """Sends a request; a `body` that is no bytes or str is sent as JSON."""
    if body is not None and not isinstance(body, (bytes, str)):
      body = json.dumps(body)
    connection = http.client.HTTPConnection(
      '127.0.0.1', self.port, timeout=_TIMEOUT_SECS
    )
    with contextlib.closing(connection):
      connection.request(method, path, body, dict(headers or {}))
      response = connection.getresponse()
      text = response.read().decode('utf-8')
    is_json = response.headers.get_content_type() == 'application/json'
    parsed = json.loads(text) if is_json else None
    return Reply(response.status, parsed, text, response.headers)

  def get(self, path: str, **headers: str) -> Reply:
    return self.request('GET', path, headers=headers)

  def predict(self, body: Any, **headers: str) -> Reply:
    return self.request('POST', '/v1/models/realm:predict', body, headers)

  def post(self, path: str, body: Any) -> Reply:
    headers = {'Content-Type': 'application/json'}
    return self.request('POST', path, body, headers)

  def connect(self) -> socket.socket:
    """Returns a connection on which anything may be sent."""
    return socket.create_connection(('127.0.0.1', self.port), _TIMEOUT_SECS)


class Running(NamedTuple):
  """What a test sees of a server.

  Attributes:
    client: Of it.
    service: Behind it.
    server: Itself.
    thread: That it serves in.
  """

  client: Client
  service: service_lib.Service
  server: uvicorn_server.Server
  thread: threading.Thread


def live(
  model: served_model.ServedModel, params_step: int = 0, index_step: int = 0
) -> hot_swap.HotSwap:
  """Returns what serves `model` and finds no newer one."""
  versions = served_model.Versions(params_step, index_step)
  swap = hot_swap.HotSwap(lambda: versions, lambda _: model)
  swap.load_first()
  return swap


def fake_live(answerer: FakeAnswerer) -> hot_swap.HotSwap:
  """Returns a live model of a fake; its versions are parameters 3, index 2."""
  answerer.table = FakeTable()
  return live(served_model.ServedModel(answerer, None), 3, 2)


@contextlib.contextmanager
def run(
  service: service_lib.Service,
  settings: handlers.Settings,
  idle_secs: float = 60,
  **options: Any,
):
  """Serves until the end of the `with`; gives a `Running`."""
  listener = uvicorn_server.listen('127.0.0.1', 0)
  server = uvicorn_server.Server(
    http_server.make_app(service, settings), idle_secs=idle_secs, **options
  )
  thread = threading.Thread(target=server.serve_on, args=[listener])
  thread.start()
  try:
    yield Running(Client(listener.getsockname()[1]), service, server, thread)
  finally:
    server.should_exit = True
    thread.join()
    service.close()


def in_thread(function: Callable[[], Any]) -> Callable[[], Any]:
  """Calls a function in a thread; returns what waits for its result."""
  results = []
  thread = threading.Thread(target=lambda: results.append(function()))
  thread.start()

  def wait():
    thread.join(_TIMEOUT_SECS)
    return results[0]

  return wait
