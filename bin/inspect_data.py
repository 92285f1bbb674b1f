r"""Shows the content of a corpus or a directory of queries.

  python -m bin.inspect_data --corpus_dir=Z
  python -m bin.inspect_data --corpus_dir=Z --queries_dir=X
  python -m bin.inspect_data --corpus_dir=Z --model_dir=Y --verify

Prints counts, skipped articles by reason, lengths, and random examples, with
salient spans marked.
"""

from __future__ import annotations

import sys

from . import corpus_flags
from . import launcher
from . import path_flags

from absl import flags

from realm_tf.index import model_files
from realm_tf.records import inspection
from realm_tf.records import query_table
from realm_tf.rundir import layout
from realm_tf.rundir import versions

_QUERIES_DIR = path_flags.existing(
  'queries_dir', 'Queries to show in place of the corpus.'
)
_MODEL_DIR = path_flags.existing(
  'model_dir', 'Model directory that --verify checks, too.'
)
_NUM_EXAMPLES = flags.DEFINE_integer(
  'num_examples', 10, 'Random blocks or queries to show.', 0
)
_VERIFY = flags.DEFINE_bool(
  'verify', False, 'Compare all files with their checksums.'
)


def _report(seed: int) -> inspection.Report:
  table = corpus_flags.open_table(_VERIFY.value)
  tokenizer = corpus_flags.tokenizer()
  if _VERIFY.value and _MODEL_DIR.value:
    _verify_model(_MODEL_DIR.value, table)
  if not _QUERIES_DIR.value:
    return inspection.of_corpus(table, _NUM_EXAMPLES.value, seed)
  queries = query_table.QueryTable.open(_QUERIES_DIR.value, _VERIFY.value)
  queries.fit_corpus(table)
  return inspection.of_queries(queries, tokenizer, _NUM_EXAMPLES.value, seed)


def _verify_model(model_dir, table) -> None:
  """Checks every complete version of a model, and its vocabulary."""
  model_files.open_model(model_dir, table=table)
  for root in (layout.params_root(model_dir), layout.index_root(model_dir)):
    for version in versions.complete(root):
      versions.verify(version.path)


def main(_):
  report = _report(flags.FLAGS.seed)
  if _VERIFY.value:
    checked = [corpus_flags.CORPUS_DIR, _QUERIES_DIR, _MODEL_DIR]
    for directory in filter(None, (flag.value for flag in checked)):
      print(f'{directory} agrees with its checksums.')
  print(inspection.as_text(report, colored=sys.stdout.isatty()), end='')


if __name__ == '__main__':
  launcher.run(main)
