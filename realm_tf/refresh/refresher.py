"""Re-embeds the corpus whenever the trainer publishes new parameters.

  parameter version -> [this file] -> index version

The second of the two jobs of Section 3.3 of Guu et al. 2020. It shares nothing
with the trainer but the run directory.
"""

from collections.abc import Callable
from typing import Optional

from absl import logging

from realm_tf.rundir import versions


def refresh_until_done(
  newest_params: Callable[[], Optional[versions.Version]],
  newest_index: Callable[[], Optional[versions.Version]],
  publish_index: Callable[[versions.Version], None],
  is_training_done: Callable[[], bool],
  wait: Callable[[], None],
) -> int:
  """Publishes one index per parameter version until training is done.

  Versions that arrive while an index is being built are skipped, except the
  last: an index is always built from the newest parameters. None is ever built
  twice, nor an older one after a newer one, also not after a restart.

  Args:
    newest_params: Returns the newest parameter version; None before the first.
    newest_index: Returns the newest index version; None before the first.
    publish_index: Embeds all blocks with the version and publishes the index.
    is_training_done: Whether the trainer will publish nothing more.
    wait: Called when there is nothing to do, e.g. `lambda: time.sleep(5)`.

  Returns:
    The number of index versions published.
  """
  num_published = 0
  while True:
    done = is_training_done()  # Read first, so the last one is not missed.
    params, index = newest_params(), newest_index()
    published_step = -1 if index is None else index.step
    if params is not None and params.step > published_step:
      logging.info('Building the index of step %d.', params.step)
      publish_index(params)
      num_published += 1
    elif done:
      return num_published
    else:
      wait()
