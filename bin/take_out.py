r"""Divides articles and their questions, and takes paragraphs out.

  python -m bin.take_out --input=train.jsonl --input=val.jsonl \
      --questions=train_qa.jsonl --questions=val_qa.jsonl \
      --split=train:0:40:0.3:4000:2000 --split=test:1:28:0.5:2250:2250 \
      --output_dir=runs/split

An input's record is a paragraph; `title` names its article. Writes the
paragraphs that stay, articles.jsonl, and for each split NAME.jsonl and
NAME_taken_out.jsonl, questions without an answer.
"""

import os
import re

from . import launcher
from . import path_flags
from . import question_flags

from absl import flags

from realm_tf.corpus import sources
from realm_tf.corpus import taken_out
from realm_tf.corpus import writers

_INPUT = path_flags.existing(
  'input', 'Articles, as of bin.make_blocks', required=True, many=True
)
_SPLITS = flags.DEFINE_multi_string(
  'split',
  None,
  'NAME:INPUT:ARTICLES:SHARE:QUESTIONS:TAKEN_OUT: index of the --input, '
  'articles, share of their paragraphs to take out, questions of each kind',
  required=True,
)
_TRAINED_ON = path_flags.existing(
  'trained_on', 'Questions whose articles are left out.'
)
_OUTPUT_DIR = path_flags.new('output_dir', 'Directory to write.')
flags.mark_flag_as_required('questions')
launcher.check_flags(
  lambda split, input: all(
    re.fullmatch(r'\w+(:\d+){2}:[01](\.\d+)?(:\d+){2}', each)
    and int(each.split(':')[1]) < len(input)
    for each in split
  ),
  '--split must be like test:0:28:0.5:100:100, with the index of an --input.',
)


def _split(text):
  name, part, articles, share, *most = text.split(':')
  numbers = int(part), int(articles), float(share), *map(int, most)
  return taken_out.Split(name, *numbers)


def main(_):
  seen = []
  if _TRAINED_ON.value:
    seen = question_flags.read(_TRAINED_ON.value)
  kept, questions = taken_out.divide(
    [sources.read_articles([path]) for path in _INPUT.value],
    question_flags.read(),
    map(_split, _SPLITS.value),
    seen={question.gold_id for question in seen},
    seed=flags.FLAGS.seed,
  )
  path = os.path.join(_OUTPUT_DIR.value, '{}.jsonl').format
  writers.write_articles(kept, path('articles'))
  for name, chosen in questions.items():
    writers.write_questions(chosen, path(name))


if __name__ == '__main__':
  launcher.run(main)
