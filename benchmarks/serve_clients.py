r"""Clients of a server on loopback; run by benchmarks.serve.

  python -m benchmarks.serve_clients URL QUESTIONS NUM_CLIENTS NUM_REQUESTS [on]

Prints one JSON object: rate, p50_ms, p99_ms, failed, and cpu_ms, what a request
costs the clients. With `on` it goes on until its input is closed, and prints
one for every NUM_REQUESTS.
"""

import http.client
import json
import sys
import threading
import time
from urllib import parse

PATH = '/v1/models/realm:predict'


def read_questions(path: str) -> list[str]:
  """Returns the "question" of each line."""
  with open(path) as file:
    return [json.loads(line)['question'] for line in file]


def _ask_on(address, bodies, seconds, failed):
  connection = http.client.HTTPConnection(*address, timeout=60)
  for body in bodies:
    begun = time.perf_counter()
    connection.request('POST', PATH, body)
    reply = connection.getresponse()
    reply.read()
    seconds.append(time.perf_counter() - begun)
    if reply.status != 200:
      failed.append(reply.status)
  connection.close()


def run(url: str, questions: list[str], clients: int, requests: int) -> dict:
  """Asks `requests` questions and returns the figures."""
  parsed = parse.urlparse(url)
  if parsed.hostname != '127.0.0.1':
    sys.exit(f'Only a server on loopback is loaded. Got {url}.')
  bodies = [
    json.dumps({'instances': [questions[i % len(questions)]]})
    for i in range(requests)
  ]
  seconds: list[float] = []
  failed: list[int] = []
  threads = [
    threading.Thread(
      target=_ask_on,
      args=[
        (parsed.hostname, parsed.port),
        *(bodies[i::clients], seconds, failed),
      ],
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
