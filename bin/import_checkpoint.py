r"""Makes a model directory from weights that were trained elsewhere.

  python -m bin.import_checkpoint --source=hf:DIR --output_dir=runs/imported

DIR holds a Hugging Face BERT or REALM model: config.json, model.safetensors
and vocab.txt. Prints which weights were and were not used. What the source
does not have (say, a span reader) is not written: training starts it anew.
"""

import os

from bin import launcher

from absl import flags
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.importing import hugging_face
from realm_tf.modeling import weights
from realm_tf.rundir import layout
from realm_tf.rundir import model_directory
from realm_tf.rundir import versions

_SOURCE = flags.DEFINE_string(
  'source', None, 'hf:DIR, a Hugging Face directory.', required=True
)
_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', None, 'Model directory to make.', required=True
)


def _source_dir():
  kind, _, path = _SOURCE.value.partition(':')
  if kind != 'hf' or not path:
    raise errors.UserError(
      f'--source must be hf:DIR. Found {_SOURCE.value!r}. Give a directory '
      'with config.json, model.safetensors and vocab.txt.'
    )
  return path


def _vocab_file(source_dir):
  path = os.path.join(source_dir, 'vocab.txt')
  if not tf.io.gfile.exists(path):
    raise errors.UserError(
      f'{source_dir} must hold the vocabulary of the weights, vocab.txt. '
      'Found none. Copy it there.'
    )
  return path


def main(_):
  source_dir = _source_dir()
  arrays, report = hugging_face.load_bert(source_dir)
  config = config_lib.ExperimentConfig(
    model=hugging_face.model_config(source_dir)
  )
  model_directory.create(_OUTPUT_DIR.value, config, _vocab_file(source_dir))
  variables = [tf.Variable(value, name=name) for name, value in arrays.items()]
  version = versions.publish(
    layout.params_root(_OUTPUT_DIR.value),
    0,
    lambda path: weights.write(variables, layout.params_file(path)),
    {'params_fingerprint': weights.fingerprint(variables)},
  )
  for title, names in report._asdict().items():
    print(f'{title.replace("_", " ")}: {len(names)}')
    if title != 'used':  # A long list, and none of it needs a look.
      for name in names:
        print(f'  {name}')
  print(f'Wrote {version.path}.')


if __name__ == '__main__':
  launcher.run(main)
