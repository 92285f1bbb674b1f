r"""Chooses questions and masked sentences that a model answers, for its page.

python -m bin.choose_examples --model_dir=runs/quickstart \
      --questions=runs/quickstart/world/dev_questions.jsonl \
      --queries_dir=runs/quickstart/queries \
      --output=runs/quickstart/examples.json
"""

import json

from . import answer_flags
from . import corpus_flags
from . import launcher
from . import path_flags
from . import question_flags

from absl import flags

from realm_tf.answering import masked_sentence
from realm_tf.evaluation import example_choice
from realm_tf.records import query_table
from realm_tf.rundir import outputs

_QUERIES_DIR = path_flags.existing(
  'queries_dir', 'Output of bin.make_queries, for masked sentences.'
)
_PRETRAINED_DIR = path_flags.existing(
  'pretrained_dir', 'Run directory of bin.pretrain, for masked sentences.'
)
_OUTPUT = flags.DEFINE_string('output', None, 'File to write.', required=True)
answer_flags.define_search()
corpus_flags.define_retriever()
flags.mark_flag_as_required('model_dir')


def main(_):
  examples = {'questions': [], 'masked': []}
  if question_flags.QUESTIONS.value:
    questions = question_flags.read()
    (answerer,) = answer_flags.load([flags.FLAGS.sparse_weight])
    if answerer.reader is not None:
      examples['questions'] = example_choice.questions(answerer, questions)
  if _QUERIES_DIR.value and _PRETRAINED_DIR.value:
    corpus_dir = corpus_flags.CORPUS_DIR.value
    completer = masked_sentence.load(_PRETRAINED_DIR.value, corpus_dir)
    queries = query_table.QueryTable.open(_QUERIES_DIR.value)
    queries.fit_corpus(corpus_flags.open_table())
    examples['masked'] = example_choice.sentences(
      completer.complete, queries, corpus_flags.tokenizer()
    )
  text = json.dumps(examples, ensure_ascii=False, indent=1)
  outputs.write_text(_OUTPUT.value, text)
  print(text)


if __name__ == '__main__':
  launcher.run(main)
