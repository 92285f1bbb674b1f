r"""Embeds a corpus with a model's newest parameters into an index version.

python -m bin.build_index --model_dir=runs/qa --corpus_dir=runs/corpus \
    --output_dir=runs/index

After bin.make_blocks --append or --remove, --base=runs/index/000000500 embeds
only the new blocks. --runner embeds on many machines with Apache Beam.
"""

from . import beam_flags
from . import corpus_flags
from . import input_flags
from . import launcher
from . import strategy_flags

from absl import flags

from realm_tf.index import index_builder
from realm_tf.index import model_files
from realm_tf.index import version_work
from realm_tf.refresh import progress

_MODEL_DIR = input_flags.define(
  'model_dir', 'Model directory to embed with.', required=True
)
_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', None, 'Directory of index versions.', required=True
)
_BASE = input_flags.define(
  'base', 'Index version to take the embeddings of equal blocks from.'
)
_RECALL_TARGET = flags.DEFINE_float(
  'recall_target', None, 'Share of the exact top blocks to find.', 0.0, 1.0
)


def _embed_with_beam(builder, params, overrides):
  pipeline = beam_flags.load('index_pipeline')
  if begun := builder.begin(params, _OUTPUT_DIR.value):
    version, num_shards = begun
    embedding = pipeline.Embedding(
      _MODEL_DIR.value,
      corpus_flags.CORPUS_DIR.value,
      overrides,
      version,
      _BASE.value,
    )
    pipeline.embed(embedding, num_shards, beam_flags.options())


def main(_):
  params = model_files.open_model(_MODEL_DIR.value).params
  overrides = launcher.overrides()
  if _RECALL_TARGET.value is not None:
    overrides.append(f'index.recall_target={_RECALL_TARGET.value}')
  builder = index_builder.open_builder(
    _MODEL_DIR.value,
    corpus_flags.CORPUS_DIR.value,
    overrides,
    strategy_flags.create_local(),
  )
  if not beam_flags.is_local():
    _embed_with_beam(builder, params, overrides)
  job = version_work.Job(watch=progress.Progress())
  version = builder.publish(params, _OUTPUT_DIR.value, job, base=_BASE.value)
  print(version.path)


if __name__ == '__main__':
  launcher.run(main)
