r"""Writes the demonstration corpus as JSONL files.

  python -m bin.make_world --output_dir=/tmp/world

Files: articles, statements (the articles' sentences), sentences (pre-training
text with maskable character spans), {train,dev,test}_questions,
reworded_{dev,test}_questions (the same facts in words that no article uses) and
two_hop_{train,dev,test}_questions (the question does not name the answer's
article). --set=world.num_cities=500 makes a smaller world.
"""

import os

from . import launcher

from absl import flags

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
  # Training questions use only the articles' words.
  reworded = asking.reword_splits(
    {split: world.questions[split] for split in ('dev', 'test')},
    world.entities,
    world.config.seed,
  )
  world.questions.update(two_hops.ask_splits(world), **reworded)
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
