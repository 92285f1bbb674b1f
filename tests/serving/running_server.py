"""A server in a thread, on a free port of localhost, and its client."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
import contextlib
import functools
import http.client
import json
import socket
import threading
import time
import types
from typing import Any, NamedTuple, Optional
from unittest import mock

from absl.testing import parameterized

from realm_tf.qa import answer as answer_lib
from realm_tf.retrieval import hot_swap
from realm_tf.serving import connections
from realm_tf.serving import handlers
from realm_tf.serving import http_server
from realm_tf.serving import served_model
from realm_tf.serving import service as service_lib

SECS = 30  # Timeout of a step that should take far less.
_THREADS = futures.ThreadPoolExecutor(8)  # Of clients.
_SETTINGS = handlers.Settings()


class FakeAnswerer:
  """Answers 'yes' from block 7 and records the questions in `batches`.

  Calls set `entered`, and then wait for `gate`.
  """

  num_read = 2
  reader = True
  finetuning = types.SimpleNamespace(eval_batch_size=16)
  table = types.SimpleNamespace(num_blocks=9)

  def __init__(self) -> None:
    self.batches: list[list[str]] = []
    self.gate = threading.Event()
    self.gate.set()
    self.entered = threading.Event()

  def answer(self, questions: Sequence[str]) -> list[answer_lib.Answer]:
    self.batches.append(list(questions))
    self.entered.set()
    if not self.gate.wait(SECS):
      raise TimeoutError('`gate` was not set.')
    if 'break' in questions:
      raise ValueError('Broken.')
    evidence = answer_lib.Evidence(
      7, 'title', 'Oh yes.', 3, 6, 'yes', 1.0, 2.5, 'x'
    )
    return [
      answer_lib.Answer(question, 'yes', 2.5, [evidence], 0.75, 0.25)
      if question != 'none'
      else answer_lib.Answer(question, '', None, [])
      for question in questions
    ]


class Reply(NamedTuple):
  """A reply; `json` is None for other types of content."""

  status: int
  json: Any
  text: str
  headers: Mapping[str, str]


class Client:
  """Sends requests to a running server."""

  def __init__(self, port: int):
    self.port = port

  def request(
    self,
    method: str,
    path: str,
    body: Any = None,
    headers: Optional[Mapping[str, str]] = None,
  ) -> Reply:
    """Sends a request; converts a `body` to JSON unless it is bytes or str."""
    if body is not None and not isinstance(body, (bytes, str)):
      body = json.dumps(body)
    connection = http.client.HTTPConnection(
      '127.0.0.1', self.port, timeout=SECS
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

  def predict(self, body: Any) -> Reply:
    return self.request('POST', '/v1/models/realm:predict', body)

  def post(self, path: str, body: Any, **headers: str) -> Reply:
    headers['Content-Type'] = 'application/json'
    return self.request('POST', path, body, headers)

  def connect(self) -> socket.socket:
    """Returns a socket for arbitrary bytes."""
    return socket.create_connection(('127.0.0.1', self.port), SECS)


class Running(NamedTuple):
  """A running server and its thread."""

  client: Client
  service: service_lib.Service
  server: connections.Server
  thread: threading.Thread


def live(
  model: served_model.ServedModel, params_step: int = 0, index_step: int = 0
) -> service_lib.Live:
  """Returns a holder of `model` that never finds a newer version."""
  versions = served_model.Versions(params_step, index_step)
  swap: service_lib.Live = hot_swap.HotSwap(lambda: versions, lambda _: model)
  swap.load_first()
  return swap


def fake_service(answerer: Any, **options: Any) -> service_lib.Service:
  """Returns a service with parameters of step 3 and an index of step 2."""
  explorer = mock.Mock(can_search=False)
  model = served_model.ServedModel(answerer, explorer)
  return service_lib.Service(live(model, 3, 2), **options)


@contextlib.contextmanager
def run(
  service: service_lib.Service,
  settings: handlers.Settings = _SETTINGS,
  idle_secs: float = 60,
) -> Iterator[Running]:
  """Serves until the end of the `with` block."""
  listener = connections.listen('127.0.0.1', 0)
  client = Client(listener.getsockname()[1])
  app = http_server.make_app(service, settings)
  server = connections.Server(app, listener, idle_secs)
  thread = threading.Thread(target=server.run)
  thread.start()
  client.get('/healthz')  # Waits for the event loop.
  try:
    yield Running(client, service, server, thread)
  finally:
    if thread.is_alive():
      server.end()
    thread.join()
    service.close()


class FakeServerTestCase(parameterized.TestCase):
  """Base of tests of a server with a `FakeAnswerer`.

  `run_fake` sets `answerer`, `running` and `client`.
  """

  def run_fake(
    self,
    settings: handlers.Settings = _SETTINGS,
    queue_size: int = 256,
    **options: Any,
  ) -> Client:
    self.answerer = FakeAnswerer()
    self.addCleanup(self.answerer.gate.set)
    service = fake_service(self.answerer, queue_size=queue_size)
    self.running = self.enter_context(run(service, settings, **options))
    self.client = self.running.client
    return self.client

  def hold(self) -> Callable[[], Reply]:
    """Blocks the model with question 0; returns a function for its reply."""
    self.answerer.gate.clear()
    self.answerer.entered.clear()
    wait = self.predict_in_thread('0')
    self.assertTrue(self.answerer.entered.wait(SECS))
    return wait

  def predict_in_thread(self, *questions: str) -> Callable[[], Reply]:
    return in_thread(lambda: self.client.predict({'instances': questions}))

  def wait_for_metric(self, line: str) -> None:
    self.wait_until(
      lambda: f'\n{line}\n' in self.running.service.metrics.text().decode()
    )

  def wait_for_queue(self, length: int) -> None:
    self.wait_for_metric(f'realm_queue_length {length}.0')

  def wait_until(self, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECS
    while not condition():
      self.assertLess(time.monotonic(), deadline)


def in_thread(function: Callable[[], Any]) -> Callable[[], Any]:
  """Calls a function in a thread; returns a function for its result."""
  return functools.partial(_THREADS.submit(function).result, SECS)
