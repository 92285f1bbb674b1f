r"""Shows what a corpus or a directory of queries holds.

  python -m bin.inspect_data --corpus_dir=Z
  python -m bin.inspect_data --corpus_dir=Z --queries_dir=X --html=x.html

Counts, what was left out and why, lengths, and random examples; the salient
spans of queries are marked. --verify reads every file and compares it with what
was written.
"""

import os
import sys

from bin import config_flags
from bin import launcher

from absl import flags
import tensorflow as tf

from realm_tf.records import block_table
from realm_tf.records import inspection
from realm_tf.records import manifests
from realm_tf.records import query_table
from realm_tf.text import wordpiece

_CORPUS_DIR = flags.DEFINE_string(
  'corpus_dir', None, 'Corpus directory of bin.make_blocks.', required=True
)
_QUERIES_DIR = flags.DEFINE_string(
  'queries_dir', None, 'Of bin.make_queries; shown instead of the corpus.'
)
_NUM_EXAMPLES = flags.DEFINE_integer(
  'num_examples', 10, 'Random blocks or queries.', lower_bound=0
)
_VERIFY = flags.DEFINE_bool(
  'verify', False, 'Read all files, and compare them with their checksums.'
)
_HTML = flags.DEFINE_string('html', None, 'File to write, as a page.')


def _report(seed: int) -> inspection.Report:
  table = block_table.BlockTable.open(_CORPUS_DIR.value)
  if not _QUERIES_DIR.value:
    return inspection.of_corpus(table, _NUM_EXAMPLES.value, seed)
  queries = query_table.QueryTable.open(_QUERIES_DIR.value)
  queries.fit_corpus(table)
  tokenizer = wordpiece.WordpieceTokenizer.from_file(
    os.path.join(_CORPUS_DIR.value, 'vocab.txt')
  )
  return inspection.of_queries(queries, tokenizer, _NUM_EXAMPLES.value, seed)


def _verify() -> None:
  for directory in filter(None, [_CORPUS_DIR.value, _QUERIES_DIR.value]):
    num_bytes = manifests.verify(directory)
    print(f'{directory} is as it was written, all {num_bytes} bytes.')


def main(_):
  report = _report(config_flags.load().seed)
  if _VERIFY.value:
    _verify()
  if not _HTML.value:
    print(inspection.as_text(report, colored=sys.stdout.isatty()), end='')
    return
  with tf.io.gfile.GFile(_HTML.value, 'w') as file:
    file.write(inspection.as_html(report))
  print(f'Wrote {_HTML.value}.')


if __name__ == '__main__':
  launcher.run(main)
