r"""Clients of a server on loopback; run by benchmarks.serve.

  python -m benchmarks.serve_clients URL QUESTIONS NUM_CLIENTS NUM_REQUESTS [on]

URL is http://127.0.0.1:PORT/. Prints one JSON object:
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


def _ask_on(host, questions, seconds, failed):
  """Asks all questions over one connection."""
  connection = http.client.HTTPConnection(host, timeout=_SECS)
  for question in questions:
    body = json.dumps({'instances': [question]})
    begun = time.perf_counter()
    try:
      connection.request('POST', PATH, body)
      response = connection.getresponse()
      response.read()
      if response.status != 200:
        failed.append(response.status)
    except OSError as error:
      failed.append(error)
    seconds.append(time.perf_counter() - begun)
  connection.close()


def run(url: str, questions: list[str], clients: int, requests: int) -> dict:
  """Asks `requests` questions and returns the figures."""
  parsed = parse.urlparse(url)
  if parsed.hostname != '127.0.0.1':
    sys.exit(f'The server must be on loopback. Found {url}. Change the URL.')
  asked = [questions[i % len(questions)] for i in range(requests)]
  seconds: list[float] = []
  failed: list[Any] = []
  threads = [
    threading.Thread(
      target=_ask_on, args=(parsed.netloc, asked[i::clients], seconds, failed)
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
