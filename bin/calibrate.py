r"""Fits the probability that an answer is right, on development questions.

  python -m bin.calibrate --model_dir=runs/qa --corpus_dir=runs/corpus \
      --questions=dev.jsonl --questions=impossible_dev.jsonl

Writes calibration.json into --model_dir, for these --sparse_weight,
--retriever, --num_read, --answer_by and --reader_dir: answers of this search
have the fitted probability, and below its threshold "The corpus does not seem
to say." Without it, a reader with null spans refuses by their probability.
Questions without an answer in the corpus have "is_impossible": true.
"""

import json

from . import answer_flags
from . import corpus_flags
from . import launcher
from . import question_flags

from absl import flags

from realm_tf.qa import calibration
from realm_tf.qa import loading
from realm_tf.qa import refusing
from realm_tf.run import outputs
from realm_tf.run import run_lock

_EXAMPLES = launcher.new_path(
  'examples',
  "File for the page's buttons: likely, right answers.",
  required=False,
  is_file=True,
)
_EXAMPLE_QUESTIONS = launcher.existing_path(
  'example_questions',
  'Questions in plain words, with answers, to take --examples from; by default '
  '--questions.',
)
answer_flags.define_search()
flags.mark_flag_as_required('questions')


def main(_):
  model_dir = answer_flags.MODEL_DIR.value
  run_lock.hold(model_dir, 'job')
  questions = question_flags.read(keep_impossible=True)
  corpus_dir = corpus_flags.CORPUS_DIR.value
  (answerer,) = answer_flags.load(corpus_dir, [flags.FLAGS.sparse_weight])
  loading.require_reader(answerer.reader, model_dir)
  answers = answerer.answer([each.question for each in questions], 1)
  found = refusing.fit(answers, questions)
  setting = loading.setting_of(answer_flags.choices(), answerer.finetuning)
  calibration.write(found, setting, model_dir)
  if _EXAMPLES.value:
    if _EXAMPLE_QUESTIONS.value:
      questions = question_flags.read(_EXAMPLE_QUESTIONS.value)
      answers = answerer.answer([each.question for each in questions], 1)
    likeliest = refusing.likeliest(answers, questions, found)
    examples = {'questions': likeliest, 'masked': []}
    outputs.write_text(_EXAMPLES.value, json.dumps(examples, indent=1))
  print(json.dumps(found._asdict()))


if __name__ == '__main__':
  launcher.run(main)
