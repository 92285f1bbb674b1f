r"""Writes the demonstration corpus as files, to read it or use it elsewhere.

  python -m bin.make_world --output_dir=/tmp/world

Writes articles.jsonl, statements.jsonl (their sentences), sentences.jsonl (text
and the character spans that may be masked) and
{train,dev,test}_questions.jsonl; reworded_{dev,test}_*, the same in words that
articles do not use; and two_hop_{train,dev,test}_*, whose answers are in an
article that they do not name.
--set=world.num_cities=500 makes it smaller.
"""

import os

from . import launcher

from absl import flags
import tensorflow as tf

from realm_tf.world import asking
from realm_tf.world import generation
from realm_tf.world import two_hops

_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', None, 'Directory to write.', required=True
)


def _path(name):
  return os.path.join(_OUTPUT_DIR.value, f'{name}.jsonl')


def main(_):
  world = generation.generate(launcher.config().world)
  # Training questions keep to the articles' words.
  reworded = asking.reword_splits(
    {split: world.questions[split] for split in ('dev', 'test')},
    world.entities,
    world.config.seed,
  )
  world.questions.update(two_hops.ask_splits(world), **reworded)
  tf.io.gfile.makedirs(_OUTPUT_DIR.value)
  generation.write_articles(world.articles, _path('articles'))
  generation.write_sentences(world.statements, _path('statements'))
  generation.write_sentences(world.sentences, _path('sentences'))
  for split, questions in world.questions.items():
    generation.write_questions(questions, _path(f'{split}_questions'))
  print(
    f'Wrote {len(world.articles)} articles, {len(world.sentences)} '
    f'sentences and {sum(map(len, world.questions.values()))} questions '
    f'to {_OUTPUT_DIR.value}.'
  )


if __name__ == '__main__':
  launcher.run(main)
