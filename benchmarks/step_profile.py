"""Measures a compiled step's processor time by kind of operation.

XLA's thunks on CPU report each operation on the thread that runs it, but the
threads that do most of a matmul's work report nothing. So matmul is the
process's time minus the time of all other operations.
"""

import collections
from collections.abc import Callable, Iterator
import glob
import os
import re
import tempfile
import time

import tensorflow as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2

_STEPS = 2
_NUM_KINDS = 8
_MATMUL = (
  'dot',
  'MatMul',
  'BatchMatMulV2',
  '_MklMatMul',
  '_MklBatchMatMulV2',
  '_MklNativeFusedMatMul',
)
# Events that contain other events or wait for them.
_FRAMES = re.compile(
  r'__|TFE|Eager|Local|Thunk|Xla|.*PartitionedCall|call\b|end:|Executor|.*::'
)


def _own_times(line) -> Iterator[tuple[int, float]]:
  """Yields the seconds of each event of a thread, without inner events."""
  stack = []  # [end, metadata id, picoseconds] of the open events.
  events = sorted(line.events, key=lambda e: (e.offset_ps, -e.duration_ps))
  for event in events:
    while stack and stack[-1][0] <= event.offset_ps:
      _, name, own = stack.pop()
      yield name, own / 1e12
    if stack:
      stack[-1][2] -= event.duration_ps
    end = event.offset_ps + event.duration_ps
    stack.append([end, event.metadata_id, event.duration_ps])
  for _, name, own in stack:
    yield name, own / 1e12


def _kind(name: str) -> str:
  """Returns 'reduce' for 'reduce.17.clone', 'Mul' for 'a/b/mul_1:Mul'."""
  return re.sub(r'\.(\d|clone).*', '', name.split(':')[-1])


def _seconds_by_kind(directory: str) -> collections.Counter:
  seconds = collections.Counter()
  pattern = os.path.join(directory, '**', '*.xplane.pb')
  for path in glob.glob(pattern, recursive=True):
    space = xplane_pb2.XSpace()
    with open(path, 'rb') as file:
      space.ParseFromString(file.read())
    for plane in space.planes:
      for line in plane.lines:
        for metadata_id, own in _own_times(line):
          name = plane.event_metadata[metadata_id].name
          if line.name != 'python' and not _FRAMES.match(name):
            seconds[_kind(name)] += own
  return seconds


def profile(step: Callable[[], object]) -> dict:
  """Returns shares of processor time: 'not_matmul', and 'by_kind'."""
  with tempfile.TemporaryDirectory() as directory:
    tf.profiler.experimental.start(directory)
    begun = time.process_time()
    for _ in range(_STEPS):
      step()
    total = time.process_time() - begun
    tf.profiler.experimental.stop()
    seconds = _seconds_by_kind(directory)
  for kind in _MATMUL:
    seconds.pop(kind, None)
  return {
    'not_matmul': sum(seconds.values()) / total,
    'by_kind': {
      kind: round(secs / total, 3)
      for kind, secs in seconds.most_common(_NUM_KINDS)
    },
  }
