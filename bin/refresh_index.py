r"""Rebuilds the index whenever the trainer publishes new parameters.

  python -m bin.refresh_index --run_dir=runs/realm --corpus_dir=runs/corpus

Ends when training is done. After a crash, start it again: it goes on.
"""

import functools
import time

from bin import launcher

from absl import flags
import tensorflow as tf

from realm_tf.index import index_builder
from realm_tf.records import shards
from realm_tf.refresh import refresher
from realm_tf.rundir import layout
from realm_tf.rundir import versions

_RUN_DIR = flags.DEFINE_string(
  'run_dir', None, 'Directory shared with the trainer.', required=True
)
_CORPUS_DIR = flags.DEFINE_string(
  'corpus_dir', None, 'Corpus, from bin.make_blocks.', required=True
)
_POLL_SECS = flags.DEFINE_float(
  'poll_secs', 1.0, 'Seconds between two looks for new parameters.'
)
_ONCE = flags.DEFINE_bool(
  'once', False, 'End after the parameters that are there now.'
)
_KEPT_VERSIONS = 3


def main(_):
  run_dir = _RUN_DIR.value
  params_root, index_root = (
    layout.params_root(run_dir),
    layout.index_root(run_dir),
  )
  wait = functools.partial(time.sleep, _POLL_SECS.value)
  is_done = functools.partial(tf.io.gfile.exists, layout.done_file(run_dir))
  shards.read_manifest(_CORPUS_DIR.value)  # A mistake shows before the wait.
  while not _ONCE.value and versions.newest(params_root) is None:
    wait()
  builder = index_builder.open_builder(run_dir, _CORPUS_DIR.value)

  def publish(params):
    builder.publish(params, index_root)
    versions.prune(index_root, _KEPT_VERSIONS)

  refresher.refresh_until_done(
    newest_params=functools.partial(versions.newest, params_root),
    newest_index=functools.partial(versions.newest, index_root),
    publish_index=publish,
    is_training_done=(lambda: True) if _ONCE.value else is_done,
    wait=wait,
  )


if __name__ == '__main__':
  launcher.run(main)
