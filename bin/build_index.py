r"""Embeds a corpus with a model's newest parameters: one index version.

python -m bin.build_index --params_dir=runs/qa --corpus_dir=runs/corpus \
    --output_dir=runs/index
"""

from bin import launcher

from absl import flags

from realm_tf.index import index_builder
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


def main(_):
  params = model_directory.open_directory(_PARAMS_DIR.value).params
  builder = index_builder.open_builder(_PARAMS_DIR.value, _CORPUS_DIR.value)
  print(builder.publish(params, _OUTPUT_DIR.value).path)


if __name__ == '__main__':
  launcher.run(main)
