r"""Averages a model's embedders before and after a training.

  python -m bin.average_models --model_dir=runs/adapt/realm/best \
      --before_dir=runs/adapt/start --output_dir=runs/adapt/model

An encoder trained on questions and then on masked sentences forgets some kinds
of questions; the average does not. The other weights are --model_dir's.
"""

from . import launcher

from absl import flags

from realm_tf.index import model_files

_MODEL_DIR = launcher.existing_path(
  'model_dir', 'Model directory after training.', required=True
)
_BEFORE_DIR = launcher.existing_path(
  'before_dir', 'Model directory before training.', required=True
)
_WEIGHT = flags.DEFINE_float(
  'weight', 0.5, 'Weight of --model_dir in the average.', 0.0, 1.0
)
_OUTPUT_DIR = launcher.new_path('output_dir', 'New model directory to write.')


def main(_):
  version = model_files.write_average(
    _MODEL_DIR.value,
    _BEFORE_DIR.value,
    _WEIGHT.value,
    output_dir=_OUTPUT_DIR.value,
  )
  print(f'Wrote {version.path}.')


if __name__ == '__main__':
  launcher.run(main)
