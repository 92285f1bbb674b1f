"""Progress of a refresh: a bar, log lines and TensorBoard."""

from collections.abc import Callable
import os
import sys
import time
from typing import Optional

from absl import logging
import tensorflow as tf
import tqdm

_LOG_SECS = 60.0


class Progress:
  """Shows a refresh's progress; an instance is a `version_work.Job.watch`.

  `summary_dir` is for TensorBoard; `clock` returns monotonic seconds.
  """

  def __init__(
    self,
    summary_dir: Optional[str] = None,
    clock: Callable[[], float] = time.monotonic,
  ):
    self._clock = clock
    self._summary_dir = summary_dir and os.path.join(summary_dir, 'refresh')
    self._writer: Optional[tf.summary.SummaryWriter] = None
    self._num_embedded = 0  # In this process; TensorBoard's horizontal axis.
    self._bar: Optional[tqdm.tqdm] = None

  def start(self) -> None:
    self._bar = None

  def __call__(self, done: int, total: int) -> None:
    """Shows that all workers have embedded `done` of `total` blocks."""
    now = self._clock()
    if self._bar is None:
      self._bar = tqdm.tqdm(
        total=total,
        initial=done,
        desc='embedding blocks',
        unit='block',
        mininterval=5,
        file=sys.stdout,  # stderr is for mistakes.
      )
      self._first = self._logged = done, now
    self._num_embedded += max(0, done - self._bar.n)
    self._bar.update(done - self._bar.n)
    if done >= total:
      self._bar.close()
    if done >= total or now - self._logged[1] >= _LOG_SECS:
      self._log(done, total, now)
      self._logged = done, now

  def _log(self, done: int, total: int, now: float) -> None:
    secs = max(now - self._first[1], 1e-9)
    rate = (done - self._first[0]) / secs
    left = (total - done) / rate if rate > 0 else float('inf')
    logging.info(
      'Embedded %d of %d blocks, %.0f a second, %.0f s to go.',
      done,
      total,
      rate,
      left,
    )
    if not self._summary_dir:
      return
    try:
      if self._writer is None:
        self._writer = tf.summary.create_file_writer(self._summary_dir)
      with self._writer.as_default(step=self._num_embedded):
        tf.summary.scalar('refresh/blocks_per_second', rate)
        tf.summary.scalar('refresh/share_embedded', done / total)
      self._writer.flush()
    except tf.errors.OpError as error:  # A full disk stops no refresh.
      logging.warning('Could not write to %s: %s', self._summary_dir, error)
