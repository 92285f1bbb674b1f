"""Approximate search by ScaNN, through its pybind API, here or in a child.

Partitions (Guo et al. 2020, https://arxiv.org/abs/1908.10396), a second one for
each block (SOAR, Sun et al. 2024, https://arxiv.org/abs/2404.00774), codes of 4
bits for 2 dimensions, then rescoring. A pybind searcher's memory is freed with
the object; the TensorFlow op's memory is not.
"""

from collections.abc import Callable, Mapping
import contextlib
import json
import math
import multiprocessing
from multiprocessing import connection
import os
import struct
import subprocess
import sys
import threading
from typing import Any
import weakref

import numpy as np

from realm_tf import config as config_lib
from realm_tf import interfaces
from realm_tf import machine
from realm_tf.index import searcher as searcher_lib

_SOAR_LAMBDA = 1.5
_MIN_SPILLING_BLOCKS = 1000  # With fewer, a second partition does not help.
_TRAINING_BLOCKS = 250_000
_QUERIES_PER_TASK = 256  # At most; a batch is split over threads.
# Q, D and k; float32 [Q, D] follows. A reply is int32 and float32 [Q, k].
_REQUEST = struct.Struct('=qqq')
# A training step on the same cores goes first, unless it waits for this search.
_NICE = 10


class ScannSearcher(searcher_lib.ApproximateSearcher):
  """Tree partitioning, asymmetric hashing, then exact rescoring."""

  def __init__(self, handle: Any, num_leaves: int):
    self._handle, self.num_leaves = handle, num_leaves

  @classmethod
  def build(
    cls, embeddings: np.ndarray, config: config_lib.IndexConfig
  ) -> 'ScannSearcher':
    """Builds a searcher over float32 [N, D], N >= `searcher_lib.MIN_BLOCKS`.

    Memory-mapped embeddings are copied only once, by ScaNN.
    """
    from scann.scann_ops.py import scann_ops_pybind

    num_blocks = len(embeddings)
    leaves, effort = searcher_lib.untuned(config, num_blocks)
    builder = prepare(
      scann_ops_pybind.builder,
      embeddings,
      leaves,
      effort,
      soar_lambda=_SOAR_LAMBDA if num_blocks >= _MIN_SPILLING_BLOCKS else None,
    )
    builder = builder.reorder(min(effort.num_to_rescore, num_blocks))
    return cls(builder.build(), leaves)

  @classmethod
  def load(cls, directory: str, num_leaves: int) -> 'ScannSearcher':
    """Loads the files that `save` wrote into a local directory."""
    from scann.scann_ops.py import scann_ops_pybind

    with open(os.path.join(directory, 'scann_assets.pbtxt')) as file:
      assets = file.read()
    # `load_searcher` might unpickle a file.
    handle = scann_ops_pybind.ScannSearcher(
      scann_ops_pybind.scann_pybind.ScannNumpy(directory, assets)
    )
    return cls(handle, num_leaves)

  def save(self, directory: str) -> None:
    """Writes the searcher into a local directory, which can be moved."""
    self._handle.serialize(directory, relative_path=True)

  def search(
    self, queries: np.ndarray, k: int, effort: searcher_lib.Effort
  ) -> interfaces.Neighbors:
    queries = np.ascontiguousarray(queries, np.float32)
    options = {
      'final_num_neighbors': k,
      'pre_reorder_num_neighbors': max(k, effort.num_to_rescore),
      'leaves_to_search': effort.leaves_to_search,
    }
    if len(queries) == 1:  # No threads to wake.
      found = self._handle.search(queries[0], **options)
      alone = searcher_lib.mark_missing(*(values[None] for values in found))
      return searcher_lib.fill(alone, k)
    share = math.ceil(len(queries) / machine.cores())
    ids, scores = self._handle.search_batched_parallel(
      queries, batch_size=min(_QUERIES_PER_TASK, share), **options
    )
    # ScaNN pads missing hits with id 0 and a score of NaN.
    return searcher_lib.mark_missing(ids, scores)


def prepare(
  make_builder: Callable[..., Any],
  embeddings: np.ndarray,
  leaves: int,
  effort: searcher_lib.Effort,
  **tree_options: Any,
) -> Any:
  """Returns a configured ScaNN builder, without rescoring."""
  number = len(embeddings)
  builder = make_builder(
    np.ascontiguousarray(embeddings, np.float32), 10, 'dot_product'
  )
  # No random start, so that each build gives the same index.
  builder = builder.tree(
    leaves,
    effort.leaves_to_search,
    random_init=False,
    training_sample_size=min(number, _TRAINING_BLOCKS),
    **tree_options,
  )
  builder = builder.score_ah(2, anisotropic_quantization_threshold=0.2)
  builder.set_n_training_threads(machine.cores())
  return builder


class ScannProcess:
  """A searcher in a child process, as the parent sees it; made by `load`.

  ScaNN holds Python's lock while it loads: two seconds per million blocks, half
  a minute for the paper's index. Loaded in a thread, it would stop training for
  that time. The child ends, and frees its memory, when its searcher is garbage
  or the parent ends.
  """

  def __init__(self, process: subprocess.Popen, pipe: connection.Connection):
    self._process, self._pipe = process, pipe
    self._lock = threading.Lock()  # Replies come in the order of requests.
    weakref.finalize(self, _end, process, pipe)

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
    ours, theirs = multiprocessing.Pipe()
    process = subprocess.Popen(
      [sys.executable, '-m', __name__, str(theirs.fileno()), directory]
      + [str(num_leaves), json.dumps(list(efforts.items()))],
      stdin=subprocess.DEVNULL,
      stdout=2,  # stderr, for libraries' prints.
      pass_fds=[theirs.fileno()],
      env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
      start_new_session=True,  # Ctrl-C is for the parent.
    )
    theirs.close()
    searcher = cls(process, ours)
    try:
      ours.recv_bytes()
    except EOFError as error:
      raise OSError(
        f'A process could not load {directory}; it ended with code '
        f'{process.wait()}.'
      ) from error
    return searcher

  def search(self, queries: np.ndarray, k: int) -> interfaces.Neighbors:
    """Returns the top `k` of each query; OSError if the child has ended."""
    queries = np.ascontiguousarray(queries, np.float32)
    request = _REQUEST.pack(*queries.shape, k) + queries.tobytes()
    try:
      with self._lock:
        self._pipe.send_bytes(request)
        ids, scores = self._pipe.recv_bytes(), self._pipe.recv_bytes()
    except EOFError as error:
      raise OSError(
        f'The process of a searcher ended with code {self._process.wait()}.'
      ) from error
    return interfaces.Neighbors(
      np.frombuffer(ids, np.int32).reshape(-1, k),
      np.frombuffer(scores, np.float32).reshape(-1, k),
    )


def _end(process: subprocess.Popen, pipe: connection.Connection) -> None:
  pipe.close()  # The child ends at the end of its input.
  process.wait()


def _serve(
  number: str, directory: str, num_leaves: str, efforts_json: str
) -> None:
  """Answers requests until the parent closes the pipe of this number."""
  os.nice(_NICE)
  # ScaNN would import TensorFlow, which costs seconds and memory.
  sys.modules['tensorflow'] = None
  pipe = connection.Connection(int(number))
  efforts = {k: searcher_lib.Effort(*e) for k, e in json.loads(efforts_json)}
  loaded = ScannSearcher.load(directory, int(num_leaves))
  searcher = searcher_lib.TunedSearcher(loaded, efforts)
  pipe.send_bytes(b'ready')
  with contextlib.suppress(EOFError):
    while request := pipe.recv_bytes():
      num_queries, size, k = _REQUEST.unpack_from(request)
      queries = np.frombuffer(request, np.float32, offset=_REQUEST.size)
      queries = queries.reshape([num_queries, size])
      found = searcher_lib.fill(searcher.search(queries, k), k)
      pipe.send_bytes(found.block_ids.astype(np.int32).tobytes())
      pipe.send_bytes(found.scores.astype(np.float32).tobytes())


if __name__ == '__main__':
  _serve(*sys.argv[1:])
