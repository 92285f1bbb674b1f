r"""Writes the demonstration corpus as JSONL files.

  python -m bin.make_world --output_dir=/tmp/world
  python -m bin.make_world --output_dir=/tmp/changed \
      --predictions=runs/qa/eval/predictions.jsonl

Files: articles, statements (the articles' sentences), sentences (pre-training
text with maskable character spans), train_texts (words of training questions)
and, for train, dev and test, questions, two_hop_questions (the answer's article
is not named), missing_questions and foreign_questions (facts, and subjects or
places, that no article has). Dev and test repeat their questions' facts in
reworded_questions (words of no article) and unseen_questions (forms of no
training question). Training has practice_questions, too, half of those about
countries about invented ones of practice_articles.

With --predictions, the fact of the first right answer gets another entity's
value. Files: articles with the change, question (with its new answer), and
changed.json (with both answers). No training is needed to answer it (Appendix
C). --set=world.num_cities=500 makes a smaller world.
"""

import itertools
import os

from . import config_flags
from . import launcher
from . import path_flags

from realm_tf import errors
from realm_tf.corpus import json_records
from realm_tf.corpus import writers
from realm_tf.rundir import json_files
from realm_tf.world import asking
from realm_tf.world import foreign
from realm_tf.world import generation
from realm_tf.world import missing
from realm_tf.world import practice
from realm_tf.world import two_hops

_OUTPUT_DIR = path_flags.new('output_dir', 'Directory to write.')
_PREDICTIONS = path_flags.existing(
  'predictions', 'predictions.jsonl of bin.evaluate, to change a fact.'
)


def _path(name):
  return os.path.join(_OUTPUT_DIR.value, f'{name}.jsonl')


def _first_right(world):
  """Returns the first question that --predictions answers."""
  known = {
    question.question_id: question
    for question in itertools.chain(*world.questions.values())
  }
  for _, row in json_records.read_lines(_PREDICTIONS.value):
    if row.get('exact_match') and row.get('id') in known:
      return known[row['id']]
  raise errors.UserError(
    "--predictions must hold a right answer to one of the world's questions. "
    f'Found none in {_PREDICTIONS.value}. Train longer.'
  )


def _write_change(world):
  question = _first_right(world)
  changed = generation.change_asked_fact(world, question.question_id)
  writers.write_articles(changed.articles, _path('articles'))
  asked = question._replace(answers=changed.new_answers)
  writers.write_questions([asked], _path('question'))
  row = {
    'question': question.question,
    'old_answer': changed.old_answer,
    'new_answer': changed.new_answers[0],
  }
  json_files.write(os.path.join(_OUTPUT_DIR.value, 'changed.json'), row)


def main(_):
  world = generation.generate(config_flags.config().world)
  if _PREDICTIONS.value:
    _write_change(world)
    return
  again = asking.ask_again(world.questions, world.entities, world.config.seed)
  world.questions.update(again)
  for kind in (two_hops, missing, foreign):
    world.questions.update(kind.ask_splits(world))
  articles, world.questions['practice'] = practice.practise(world)
  writers.write_articles(articles, _path('practice_articles'))
  writers.write_articles(world.articles, _path('articles'))
  writers.write_sentences(world.statements, _path('statements'))
  writers.write_sentences(world.sentences, _path('sentences'))
  writers.write_train_texts(world.questions, _path('train_texts'))
  for split, questions in world.questions.items():
    writers.write_questions(questions, _path(f'{split}_questions'))
  print(
    f'Wrote {len(world.articles)} articles, {len(world.sentences)} '
    f'sentences and {sum(map(len, world.questions.values()))} questions '
    f'to {_OUTPUT_DIR.value}.'
  )


if __name__ == '__main__':
  launcher.run(main, reads=('world.',))
