"""A ScaNN searcher in a child process, for trainers that must not stall.

ScaNN holds Python's lock while it loads: two seconds per million blocks, half a
minute for the paper's index. Loaded in a thread, it would stop training for
that time. The child ends, and frees its memory, when its searcher is garbage or
the parent ends.
"""

from collections.abc import Mapping
import contextlib
import json
import os
import struct
import subprocess
import sys
import threading
from typing import Any
import weakref

import numpy as np

from realm_tf.index import searcher as searcher_lib

_REQUEST = struct.Struct('=qqq')  # Q, D and k; float32 [Q, D] follows.
_READY = b'ready'  # Replies follow, each int32 and float32 [Q, k].
# A training step on the same cores goes first, unless it waits for this search.
_NICE = 10


class ScannProcess:
  """The searcher as the parent sees it; made by `load`."""

  def __init__(self, process: subprocess.Popen):
    self._process = process
    self._requests: Any = process.stdin
    self._replies: Any = process.stdout
    self._lock = threading.Lock()  # Replies come in the order of requests.
    weakref.finalize(self, _end, process)

  @classmethod
  def load(
    cls,
    directory: str,
    num_leaves: int,
    efforts: Mapping[int, searcher_lib.Effort],
  ) -> 'ScannProcess':
    """Starts a child that loads what `ScannSearcher.save` wrote.

    A failure is an OSError; the child's stderr has the reason.
    """
    process = subprocess.Popen(
      [sys.executable, '-m', __name__, directory, str(num_leaves)]
      + [json.dumps(list(efforts.items()))],
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
      start_new_session=True,  # Ctrl-C is for the parent.
    )
    searcher = cls(process)
    if searcher._replies.read(len(_READY)) != _READY:
      _end(process)
      raise OSError(
        f'A process could not load {directory}; it ended with code '
        f'{process.returncode}.'
      )
    return searcher

  def search(self, queries: np.ndarray, k: int) -> searcher_lib.Neighbors:
    """Returns the top `k` of each query; OSError if the child has ended."""
    queries = np.ascontiguousarray(queries, np.float32)
    with self._lock:
      self._requests.write(_REQUEST.pack(*queries.shape, k))
      self._requests.write(queries.tobytes())
      self._requests.flush()
      return searcher_lib.Neighbors(
        *(self._read([len(queries), k], dtype) for dtype in ('=i4', '=f4'))
      )

  def _read(self, shape: list[int], dtype: str) -> np.ndarray:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    data = self._replies.read(size)
    if len(data) < size:
      raise OSError(
        f'The process of a searcher ended with code {self._process.wait()}.'
      )
    return np.frombuffer(data, dtype).reshape(shape)


def _end(process: Any) -> None:
  with contextlib.suppress(OSError):  # A dead child leaves requests unread.
    process.stdin.close()  # The child ends at the end of its input.
  process.stdout.close()
  process.wait()


def _serve(directory: str, num_leaves: str, efforts_json: str) -> None:
  """Answers requests until the parent closes the pipe."""
  os.nice(_NICE)
  # ScaNN would import TensorFlow, which costs seconds and memory.
  sys.modules['tensorflow'] = None
  from realm_tf.index import scann_searcher

  requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), 'wb')
  os.dup2(2, 1)  # Keeps libraries' prints out of the replies.
  efforts = {k: searcher_lib.Effort(*e) for k, e in json.loads(efforts_json)}
  loaded = scann_searcher.ScannSearcher.load(
    directory, int(num_leaves), next(iter(efforts.values()))
  )
  searcher = searcher_lib.TunedSearcher(loaded, efforts)
  replies.write(_READY)
  replies.flush()
  while header := requests.read(_REQUEST.size):
    num_queries, size, k = _REQUEST.unpack(header)
    data = requests.read(4 * num_queries * size)
    queries = np.frombuffer(data, np.float32).reshape([num_queries, size])
    found = searcher_lib.fill(searcher.search(queries, k), k)
    replies.write(np.ascontiguousarray(found.block_ids, '=i4').tobytes())
    replies.write(np.ascontiguousarray(found.scores, '=f4').tobytes())
    replies.flush()


if __name__ == '__main__':
  _serve(*sys.argv[1:])
