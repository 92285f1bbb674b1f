"""Writes what was measured on held-out articles: a log, and TensorBoard."""

from collections.abc import Mapping

from absl import logging
import tensorflow as tf

from realm_tf.rundir import layout
from realm_tf.training import metrics_log


def write(run_dir: str, step: int, means: Mapping[str, float]) -> None:
  """Adds a row for the step to held_out_metrics.jsonl and to summaries/."""
  logging.info('Held out, step %d: %s', step, means)
  metrics_log.append(
    layout.held_out_file(run_dir), {'step': step, **metrics_log.row(means)}
  )
  writer = tf.summary.create_file_writer(layout.summary_dir(run_dir))
  with writer.as_default(step=step):
    for name, value in means.items():
      tf.summary.scalar(name, value)
  writer.close()
