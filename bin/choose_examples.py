r"""Chooses questions and masked sentences that a model answers, for its page.

python -m bin.choose_examples --corpus_dir=runs/corpus \
      --questions=dev.jsonl --predictions=runs/qa/dev_predictions.jsonl \
      --queries_dir=runs/queries --pretrained_dir=runs/realm \
      --output=runs/examples.json
"""

import json

from . import corpus_flags
from . import launcher
from . import path_flags
from . import question_flags

from absl import flags

from realm_tf.answering import masked_sentence
from realm_tf.evaluation import example_choice
from realm_tf.records import query_table
from realm_tf.rundir import outputs

_PREDICTIONS = path_flags.existing(
  'predictions', 'Answers to --questions, of bin.calibrate.'
)
_QUERIES_DIR = path_flags.existing(
  'queries_dir', 'Output of bin.make_queries, for masked sentences.'
)
_PRETRAINED_DIR = path_flags.existing(
  'pretrained_dir', 'Run directory of bin.pretrain, for masked sentences.'
)
_OUTPUT = flags.DEFINE_string('output', None, 'File to write.', required=True)
launcher.check_flags(
  lambda questions, predictions: bool(questions) == bool(predictions),
  '--questions and --predictions, the answers to them, must go together.',
)


def main(_):
  examples = {'questions': [], 'masked': []}
  table = corpus_flags.open_table()
  if _PREDICTIONS.value:
    examples['questions'] = example_choice.questions(
      _PREDICTIONS.value, question_flags.read(), table
    )
  if _QUERIES_DIR.value and _PRETRAINED_DIR.value:
    completer = masked_sentence.load(
      _PRETRAINED_DIR.value, corpus_flags.CORPUS_DIR.value
    )
    queries = query_table.QueryTable.open(_QUERIES_DIR.value)
    queries.fit_corpus(table)
    examples['masked'] = example_choice.sentences(
      completer.complete, queries, corpus_flags.tokenizer()
    )
  text = json.dumps(examples, ensure_ascii=False, indent=1)
  outputs.write_text(_OUTPUT.value, text)
  print(text)


if __name__ == '__main__':
  launcher.run(main)
