r"""Pre-trains REALM while bin.refresh_index runs on the same --run_dir.

python -m bin.pretrain --config=launch/quickstart.py \
    --corpus_dir=runs/corpus --queries_dir=runs/queries \
    --run_dir=runs/realm --init_from=runs/ict [--reader_init_from=runs/bert]
"""

from . import launcher
from . import model_flags

from absl import flags

from realm_tf.config import names
from realm_tf.retrieval import retriever
from realm_tf.retrieval import word_search
from realm_tf.training import pretraining_run

_QUERIES_DIR = launcher.existing_path(
  'queries_dir', 'Queries, from bin.make_queries.', required=True
)
_KEEP_BEST = flags.DEFINE_enum(
  'keep_best', None, names.HELD_OUT_METRICS, 'Metric that chooses RUN_DIR/best.'
)
_READER_INIT_FROM = model_flags.define_reader_init_from()


def _retrievers(inputs):
  """Returns the retrievers that replace and that alternate with the index."""
  config = inputs.config.pretraining
  if config.num_candidates == 1 and config.candidates != 'recurring_span':
    return retriever.Nothing(), None
  if config.candidates == 'retrieved':
    return None, None
  words = retriever.Kept(word_search.over_table(inputs.table))
  return (None, words) if config.candidates == 'hybrid' else (words, None)


def main(_):
  job, inputs = model_flags.begin(_READER_INIT_FROM.value)
  instead, words = _retrievers(inputs)
  pretraining_run.run(
    inputs,
    _QUERIES_DIR.value,
    job,
    retriever=instead,
    words=words,
    keep_best=_KEEP_BEST.value,
  )


if __name__ == '__main__':
  launcher.run(main, reads=launcher.ALL_FIELDS)
