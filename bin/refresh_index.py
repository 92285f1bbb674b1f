r"""Rebuilds the index whenever the trainer publishes new parameters.

  python -m bin.refresh_index --run_dir=runs/realm --corpus_dir=runs/corpus

Ends with training, and continues when restarted after a crash. Several
processes share the work with --num_workers=N and --worker=0 to N - 1.
"""

import functools
import time

from . import config_flags
from . import corpus_flags
from . import launcher
from . import strategy_flags

from absl import flags

from realm_tf.data import block_table
from realm_tf.index import index_builder
from realm_tf.index import refresher
from realm_tf.index import storage
from realm_tf.index import version_work
from realm_tf.run import layout
from realm_tf.run import versions

_RUN_DIR = launcher.new_path(
  'run_dir', 'Run directory, shared with bin.pretrain.'
)
_POLL_SECS = flags.DEFINE_float(
  'poll_secs', 1.0, 'Seconds between checks for new parameters.', 0.001
)
_ONCE = flags.DEFINE_bool(
  'once', False, 'End after indexing the newest parameters.'
)
_WORKER = flags.DEFINE_integer('worker', 0, 'Index of this worker.', 0)
_NUM_WORKERS = flags.DEFINE_integer('num_workers', 1, 'Number of workers.', 1)
_TAKEOVER_SECS = flags.DEFINE_float(
  'takeover_secs', 60.0, 'Seconds until a silent worker counts as dead.', 1.0
)
_BASE = launcher.existing_path(
  'base',
  'Directory of index versions: the newest has the embeddings of the '
  'parameters that the run starts from.',
)
_KEEP = flags.DEFINE_integer('keep', 3, 'Index versions to keep.', 1)
launcher.check_flags(
  lambda worker, num_workers: worker < num_workers,
  '--worker must be below --num_workers: number the workers from 0.',
)
_MAX_FAILURES = 20  # In a row, so that a full disk can be cleared.


def main(_):
  run_dir = _RUN_DIR.value
  params_root = layout.params_root(run_dir)
  index_root = layout.index_root(run_dir)
  wait = functools.partial(time.sleep, _POLL_SECS.value)
  strategy = strategy_flags.create_local()
  # Reports a mistake before the wait for parameters.
  block_table.read_manifest(corpus_flags.CORPUS_DIR.value)
  while not _ONCE.value and versions.newest(params_root) is None:
    wait()
  builder = index_builder.open_builder(
    run_dir, corpus_flags.CORPUS_DIR.value, config_flags.overrides(), strategy
  )
  is_pinned = builder.config.pretraining.pin_index
  keep = max(_KEEP.value, 3) if is_pinned else _KEEP.value  # For --resume.
  base = _BASE.value and versions.newest(_BASE.value)
  job = version_work.Job(
    _WORKER.value,
    _NUM_WORKERS.value,
    _TAKEOVER_SECS.value,
    wait,
    version_work.Progress(),
    ends_overtaken=True,
  )

  def publish(params):
    # Later parameters embed differently.
    builder.publish(
      params, index_root, job, base=base and base.path, fits=False
    )
    storage.prune(index_root, keep, versions.read_in_use(run_dir))

  refresher.refresh_until_done(
    refresher.RunDirectory(
      run_dir, builder.corpus_fingerprint, is_pinned, _ONCE.value
    ),
    publish,
    wait,
    1 if _ONCE.value else _MAX_FAILURES,
  )


if __name__ == '__main__':
  launcher.run(main, sets=('index.', 'lengths.cut_blocks='))
