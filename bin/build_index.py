r"""Embeds a corpus with a model's newest parameters: one index version.

python -m bin.build_index --params_dir=runs/qa --corpus_dir=runs/corpus \
    --output_dir=runs/index

After bin.make_blocks --append or --remove, --base=runs/index/000000500 embeds
the new blocks only.
"""

from bin import config_flags
from bin import launcher
from bin import strategy_flags

from absl import flags

from realm_tf.index import index_builder
from realm_tf.index import version_work
from realm_tf.refresh import progress
from realm_tf.rundir import model_directory

_PARAMS_DIR = flags.DEFINE_string(
  'params_dir', None, 'Model directory with the parameters.', required=True
)
_CORPUS_DIR = flags.DEFINE_string(
  'corpus_dir', None, 'Corpus, from bin.make_blocks.', required=True
)
_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir',
  None,
  'Where the version goes, as a numbered directory.',
  required=True,
)
_BASE = flags.DEFINE_string(
  'base', None, 'Index version whose embeddings are reused.'
)
_RECALL_TARGET = flags.DEFINE_float(
  'recall_target',
  None,
  'Share of the exact top blocks that the search shall find; by default the '
  "config's.",
  0.0,
  1.0,
)


def main(_):
  params = model_directory.open_directory(_PARAMS_DIR.value).params
  overrides = config_flags.overrides()
  if _RECALL_TARGET.value is not None:
    overrides.append(f'index.recall_target={_RECALL_TARGET.value}')
  builder = index_builder.open_builder(
    _PARAMS_DIR.value,
    _CORPUS_DIR.value,
    overrides,
    strategy_flags.create_local(),
  )
  job = version_work.Job(watch=progress.Progress(), base=_BASE.value)
  print(builder.publish(params, _OUTPUT_DIR.value, job).path)


if __name__ == '__main__':
  launcher.run(main)
