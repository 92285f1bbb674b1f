r"""Clients of a server on loopback; run by benchmarks.serve.

  python -m benchmarks.serve_clients URL QUESTIONS NUM_CLIENTS NUM_REQUESTS [on]

URL is http://127.0.0.1:PORT/ or grpc://127.0.0.1:PORT. Prints one JSON object:
rate, p50_ms, p99_ms, failed, and cpu_ms, the clients' CPU time per request.
With `on`, prints an object after every NUM_REQUESTS until its input is closed.
"""

import http.client
import json
import sys
import threading
import time
from typing import Any
from urllib import parse

PATH = '/v1/models/realm:predict'

_SECS = 60.0  # Longest wait for an answer.


def read_questions(path: str) -> list[str]:
  """Returns the "question" of each line."""
  with open(path) as file:
    return [json.loads(line)['question'] for line in file]


class HttpClient:
  """A connection to TensorFlow Serving's REST API at HOST:PORT."""

  def __init__(self, host: str):
    self._connection = http.client.HTTPConnection(host, timeout=_SECS)
    self.close = self._connection.close

  @staticmethod
  def request(question: str) -> str:
    """Returns the request that asks a question."""
    return json.dumps({'instances': [question]})

  def ask(self, request: str) -> bytes:
    """Returns the reply; raises OSError if there is none."""
    self._connection.request('POST', PATH, request)
    response = self._connection.getresponse()
    reply = response.read()
    if response.status != 200:
      raise OSError(response.status)
    return reply

  @staticmethod
  def answer(reply: bytes) -> tuple[str, float]:
    """Returns the answer and its probability."""
    [prediction] = json.loads(reply)['predictions']
    return prediction['answers'], prediction['probabilities']


class GrpcClient:
  """A connection over gRPC."""

  def __init__(self, host: str):
    import grpc
    from tensorflow_serving.apis import prediction_service_pb2_grpc

    options = [('grpc.use_local_subchannel_pool', 1)]  # One connection each.
    channel = grpc.insecure_channel(host, options)
    service = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    self._predict, self.close = service.Predict, channel.close
    self._error = grpc.RpcError

  @staticmethod
  def request(question: str) -> Any:
    """Returns the request that asks a question."""
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2

    request = predict_pb2.PredictRequest()
    request.model_spec.name = 'realm'
    request.inputs['questions'].CopyFrom(tf.make_tensor_proto([question]))
    return request

  def ask(self, request: Any) -> Any:
    """Returns the reply; raises OSError if there is none."""
    try:
      return self._predict(request, _SECS)
    except self._error as error:
      raise OSError(error.code()) from error

  @staticmethod
  def answer(reply: Any) -> tuple[str, float]:
    """Returns the answer and its probability."""
    [answer] = reply.outputs['answers'].string_val
    [probability] = reply.outputs['probabilities'].float_val
    return answer.decode(), probability


CLIENTS = {'http': HttpClient, 'grpc': GrpcClient}


def _ask_on(client, requests, seconds, failed):
  for request in requests:
    begun = time.perf_counter()
    try:
      client.ask(request)
    except OSError as error:
      failed.append(error)
    seconds.append(time.perf_counter() - begun)
  client.close()


def run(url: str, questions: list[str], clients: int, requests: int) -> dict:
  """Asks `requests` questions and returns the figures."""
  parsed = parse.urlparse(url)
  if parsed.hostname != '127.0.0.1':
    sys.exit(f'The server must be on loopback. Found {url}. Change the URL.')
  client = CLIENTS[parsed.scheme]
  asked = [
    client.request(questions[i % len(questions)]) for i in range(requests)
  ]
  seconds: list[float] = []
  failed: list[OSError] = []
  threads = [
    threading.Thread(
      target=_ask_on,
      args=(client(parsed.netloc), asked[i::clients], seconds, failed),
    )
    for i in range(clients)
  ]
  begun, used = time.perf_counter(), time.process_time()
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join()
  wall = time.perf_counter() - begun
  seconds.sort()
  return {
    'rate': len(seconds) / wall,
    'p50_ms': 1000 * seconds[len(seconds) // 2],
    'p99_ms': 1000 * seconds[len(seconds) * 99 // 100],
    'failed': len(failed),
    'cpu_ms': 1000 * (time.process_time() - used) / len(seconds),
  }


def main():
  url, path, clients, requests = sys.argv[1:5]
  goes_on = sys.argv[5:] == ['on']
  closed = threading.Event()
  if goes_on:
    threading.Thread(
      target=lambda: (sys.stdin.read(), closed.set()), daemon=True
    ).start()
  questions = read_questions(path)
  while not closed.is_set():
    figures = run(url, questions, int(clients), int(requests))
    print(json.dumps(figures), flush=True)
    if not goes_on:
      break


if __name__ == '__main__':
  main()
