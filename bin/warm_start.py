r"""Trains both embedders by the Inverse Cloze Task.

python -m bin.warm_start --config=launch/quickstart.py \
    --corpus_dir=runs/corpus --run_dir=runs/ict
"""

from bin import launcher
from bin import training_flags

from absl import flags

from realm_tf.training import inverse_cloze_run
from realm_tf.training import runs

_CORPUS_DIR = flags.DEFINE_string(
  'corpus_dir', None, 'Corpus, from bin.make_blocks.', required=True
)
_RUN_DIR = flags.DEFINE_string(
  'run_dir', None, 'New directory for the model.', required=True
)
_INIT_FROM = flags.DEFINE_string(
  'init_from', None, 'Model directory to start from.'
)


def main(_):
  setup = training_flags.setup()
  inputs = runs.open_inputs(launcher.load_config(), _CORPUS_DIR.value)
  inverse_cloze_run.run(inputs, _RUN_DIR.value, _INIT_FROM.value, setup)


if __name__ == '__main__':
  launcher.run(main)
