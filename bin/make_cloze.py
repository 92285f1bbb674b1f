r"""Makes questions of sentences, to fine-tune a reader without any question.

  python -m bin.make_cloze --queries_dir=X --corpus_dir=Z --output=cloze.jsonl

A name is left out of each sentence; BM25 finds a block that has it, but is not
the sentence's own. A reader that bin.finetune has trained on them answers
questions, and needs fewer of them to answer better.
"""

import json

from bin import config_flags
from bin import launcher

from absl import flags
import tensorflow as tf

from realm_tf import errors
from realm_tf.records import block_table
from realm_tf.records import query_table
from realm_tf.retrieval import bm25
from realm_tf.retrieval import cloze_questions
from realm_tf.rundir import layout
from realm_tf.text import wordpiece

_QUERIES_DIR = flags.DEFINE_string(
  'queries_dir', None, 'Queries, from bin.make_queries.', required=True
)
_CORPUS_DIR = flags.DEFINE_string(
  'corpus_dir', None, 'Corpus, from bin.make_blocks.', required=True
)
_OUTPUT = flags.DEFINE_string(
  'output', None, 'JSONL file of questions to write.', required=True
)


def main(_):
  table = block_table.BlockTable.open(_CORPUS_DIR.value)
  queries = query_table.QueryTable.open(_QUERIES_DIR.value)
  queries.fit_corpus(table)
  tokenizer = wordpiece.WordpieceTokenizer.from_file(
    layout.vocab_file(_CORPUS_DIR.value)
  )
  questions = cloze_questions.of_sentences(
    queries,
    table,
    bm25.wordpiece_search(table, tokenizer),
    tokenizer,
    config_flags.load().seed,
  )
  lines = [
    json.dumps(question, ensure_ascii=False)
    for question in launcher.progress(questions, 'Searching', 'questions')
  ]
  if not lines:
    raise errors.UserError(
      f'Some block must have a name of a sentence that is not from it. Found '
      f'none for {queries.num_queries} sentences of {_QUERIES_DIR.value}. Use '
      'a larger corpus.'
    )
  with tf.io.gfile.GFile(_OUTPUT.value, 'w') as file:
    file.write('\n'.join(lines) + '\n')
  print(f'Wrote {len(lines)} questions to {_OUTPUT.value}.')


if __name__ == '__main__':
  launcher.run(main)
