r"""Shows what a corpus or a directory of queries holds.

  python -m bin.inspect_data --corpus_dir=Z
  python -m bin.inspect_data --corpus_dir=Z --queries_dir=X --html=x.html
  python -m bin.inspect_data --corpus_dir=Z --model_dir=Y --verify

Counts, what was left out and why, lengths, and random examples; the salient
spans of queries are marked. --verify reads every file and compares it with its
checksum.
"""

import sys

from bin import config_flags
from bin import launcher

from absl import flags
import tensorflow as tf

from realm_tf.records import block_table
from realm_tf.records import inspection
from realm_tf.records import query_table
from realm_tf.reporting import inspection_page
from realm_tf.rundir import layout
from realm_tf.rundir import model_directory
from realm_tf.rundir import versions
from realm_tf.text import wordpiece

_CORPUS_DIR = flags.DEFINE_string(
  'corpus_dir', None, 'Corpus directory of bin.make_blocks.', required=True
)
_QUERIES_DIR = flags.DEFINE_string(
  'queries_dir',
  None,
  'Directory of bin.make_queries, shown instead of the corpus.',
)
_MODEL_DIR = flags.DEFINE_string(
  'model_dir', None, 'Model directory that --verify checks as well.'
)
_NUM_EXAMPLES = flags.DEFINE_integer(
  'num_examples', 10, 'Number of random blocks or queries.', lower_bound=0
)
_VERIFY = flags.DEFINE_bool(
  'verify', False, 'Read all files and compare them with their checksums.'
)
_HTML = flags.DEFINE_string('html', None, 'Write the report to this page.')


def _report(seed: int) -> inspection.Report:
  table = block_table.BlockTable.open(_CORPUS_DIR.value, _VERIFY.value)
  tokenizer = wordpiece.WordpieceTokenizer.from_file(
    layout.vocab_file(_CORPUS_DIR.value)
  )
  if _VERIFY.value and _MODEL_DIR.value:
    _verify_model(_MODEL_DIR.value, table)
  if not _QUERIES_DIR.value:
    return inspection.of_corpus(table, _NUM_EXAMPLES.value, seed)
  queries = query_table.QueryTable.open(_QUERIES_DIR.value, _VERIFY.value)
  queries.fit_corpus(table)
  return inspection.of_queries(queries, tokenizer, _NUM_EXAMPLES.value, seed)


def _verify_model(model_dir, table) -> None:
  """Checks every complete version of a model, and its vocabulary."""
  model_directory.open_directory(model_dir)
  vocab_file = layout.vocab_file(model_dir)
  tokenizer = wordpiece.WordpieceTokenizer.from_file(vocab_file)
  model_directory.check_vocabulary(
    model_dir, tokenizer.vocabulary_sha256, table.manifest
  )
  for root in (layout.params_root(model_dir), layout.index_root(model_dir)):
    for version in versions.complete(root):
      versions.verify(version.path)


def main(_):
  report = _report(config_flags.load().seed)
  if _VERIFY.value:
    checked = [_CORPUS_DIR.value, _QUERIES_DIR.value, _MODEL_DIR.value]
    for directory in filter(None, checked):
      print(f'{directory} is as it was written.')
  if not _HTML.value:
    print(inspection.as_text(report, colored=sys.stdout.isatty()), end='')
    return
  with tf.io.gfile.GFile(_HTML.value, 'w') as file:
    file.write(inspection_page.build(*report))
  print(f'Wrote {_HTML.value}.')


if __name__ == '__main__':
  launcher.run(main)
