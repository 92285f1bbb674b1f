r"""Pre-trains REALM; wants bin.refresh_index beside it on the same --run_dir.

python -m bin.pretrain --config=launch/quickstart.py \
    --corpus_dir=runs/corpus --queries_dir=runs/queries \
    --run_dir=runs/realm --init_from=runs/ict [--reader_init_from=runs/bert]
"""

from bin import config_flags
from bin import launcher
from bin import start_flags
from bin import training_flags

from absl import flags

from realm_tf.retrieval import bm25
from realm_tf.retrieval import candidates
from realm_tf.training import held_out_queries
from realm_tf.training import pretraining_run
from realm_tf.training import runs

_CORPUS_DIR = flags.DEFINE_string(
  'corpus_dir', None, 'Corpus, from bin.make_blocks.', required=True
)
_QUERIES_DIR = flags.DEFINE_string(
  'queries_dir', None, 'Queries, from bin.make_queries.', required=True
)
_RUN_DIR = flags.DEFINE_string(
  'run_dir', None, 'Directory shared with the refresher.', required=True
)
_KEEP_BEST = flags.DEFINE_enum(
  'keep_best',
  None,
  held_out_queries.METRICS,
  'Metric of held-out queries; the best version by it goes to RUN_DIR/best.',
)


def main(_):
  setup = training_flags.setup()
  inputs = runs.open_inputs(config_flags.load(), _CORPUS_DIR.value)
  options = pretraining_run.Options(
    start_flags.init_from(), keep_best=_KEEP_BEST.value
  )
  kind = inputs.config.pretraining.candidates
  if kind != 'recurring_span' and inputs.config.pretraining.num_candidates == 1:
    options = options._replace(fixed_search=candidates.find_nothing)
  elif kind != 'retrieved':
    sparse = bm25.wordpiece_search(inputs.table, inputs.tokenizer)
    field = 'sparse' if kind == 'hybrid' else 'fixed_search'
    options = options._replace(**{field: sparse})
  pretraining_run.run(
    inputs, _QUERIES_DIR.value, _RUN_DIR.value, options, setup
  )


if __name__ == '__main__':
  launcher.run(main)
