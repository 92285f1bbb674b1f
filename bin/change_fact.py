r"""Changes one fact of the demonstration corpus: knowledge is modular.

  python -m bin.change_fact --questions=runs/world/test_questions.jsonl \
      --predictions=runs/qa/eval/predictions.jsonl --output_dir=runs/changed

Takes the first correctly answered question, gives its fact another entity's
value, and writes articles.jsonl with the change, question.jsonl with the new
answer, and changed.json (the question, its old and its new answer). No training
is needed (Appendix C).
"""

import json
import os

from . import input_flags
from . import launcher

from absl import flags

from realm_tf import errors
from realm_tf.corpus import json_records
from realm_tf.corpus import questions as questions_lib
from realm_tf.rundir import outputs
from realm_tf.text import answers
from realm_tf.world import generation

_QUESTIONS = input_flags.define(
  'questions', 'Questions, from bin.make_world.', required=True
)
_PREDICTIONS = input_flags.define(
  'predictions', 'predictions.jsonl of bin.evaluate.', required=True
)
_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', None, 'Directory to write.', required=True
)


def _first_right():
  questions = questions_lib.read_questions(_QUESTIONS.value)
  predictions = list(json_records.read_lines(_PREDICTIONS.value))
  if [row.get('question') for _, row in predictions] != [
    question.question for question in questions
  ]:
    raise errors.UserError(
      '--predictions must answer --questions, in order. Found others in '
      f'{_PREDICTIONS.value}. Run bin.evaluate on {_QUESTIONS.value}.'
    )
  for question, (_, row) in zip(questions, predictions, strict=True):
    if answers.exact_match(row['prediction'], question.answers):
      return question
  raise errors.UserError(
    '--predictions must hold a right answer, to change its fact. Found none in '
    f'{_PREDICTIONS.value}. Train longer.'
  )


def main(_):
  question = _first_right()
  world = generation.generate(launcher.config().world)
  changed = generation.change_asked_fact(world, question.question_id)
  folder = _OUTPUT_DIR.value
  generation.write_articles(
    changed.articles, os.path.join(folder, 'articles.jsonl')
  )
  asked = question._replace(answers=(changed.new_answer,))
  generation.write_questions([asked], os.path.join(folder, 'question.jsonl'))
  row = {'question': question.question, 'old_answer': changed.old_answer}
  row['new_answer'] = changed.new_answer
  outputs.write_text(
    os.path.join(folder, 'changed.json'),
    json.dumps(row, ensure_ascii=False) + '\n',
  )


if __name__ == '__main__':
  launcher.run(main)
