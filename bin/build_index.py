r"""Embeds a corpus with a model's newest parameters into an index version.

python -m bin.build_index --model_dir=runs/qa --corpus_dir=runs/corpus \
    --output_dir=runs/index

After bin.make_blocks --append or --remove, --base=runs/index/000000500 embeds
only the new blocks. --runner embeds on many machines with Apache Beam.
"""

from . import beam_flags
from . import config_flags
from . import corpus_flags
from . import launcher
from . import strategy_flags

from realm_tf.index import index_builder
from realm_tf.index import model_files
from realm_tf.index import version_work

_MODEL_DIR = launcher.existing_path(
  'model_dir', 'Model directory to embed with.', required=True
)
_OUTPUT_DIR = launcher.new_path('output_dir', 'Directory of index versions.')
_BASE = launcher.existing_path(
  'base', 'Index version to take the embeddings of equal blocks from.'
)


def main(_):
  params = model_files.open_model(_MODEL_DIR.value).params
  model = (
    _MODEL_DIR.value,
    corpus_flags.CORPUS_DIR.value,
    config_flags.overrides(),
  )
  builder = index_builder.open_builder(*model, strategy_flags.create_local())
  if not beam_flags.is_local():
    pipelines = beam_flags.pipelines()
    if begun := builder.begin(params, _OUTPUT_DIR.value):
      pipelines.embed(model, *begun, beam_flags.options(), _BASE.value)
  job = version_work.Job(watch=version_work.Progress())
  version = builder.publish(params, _OUTPUT_DIR.value, job, base=_BASE.value)
  print(version.path)


if __name__ == '__main__':
  launcher.run(main, sets=('index.', 'lengths.cut_blocks='))
