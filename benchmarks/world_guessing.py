"""Measures what guessing gets on the world's questions, without any reading.

  python -m benchmarks.world_guessing [--quick]

The guess is the most frequent answer of the relation in the training split:
what a model that knows the relations by heart and nothing else would say.
"""

import collections
import json

from absl import app
from absl import flags

from realm_tf import config as config_lib
from realm_tf.world import generation

_QUICK = flags.DEFINE_bool('quick', False, 'Use a world of 100 cities.')


def guess_accuracies(train, test):
  """Returns per relation and over 'all' the percentage of right guesses.

  Args:
    train: Questions whose ids end in '/RELATION'.
    test: As `train`.
  """
  answers = collections.defaultdict(collections.Counter)
  for question in train:
    answers[_relation(question)].update(question.answers)
  hits = collections.defaultdict(list)
  for question in test:
    [(guess, _)] = answers[_relation(question)].most_common(1) or [('', 0)]
    for key in (_relation(question), 'all'):
      hits[key].append(guess in question.answers)
  return {key: 100 * sum(hit) / len(hit) for key, hit in sorted(hits.items())}


def _relation(question):
  kind, _, relation = question.question_id.split('/')
  return f'{kind}/{relation}'


def main(_):
  config = config_lib.WorldConfig(num_cities=100 if _QUICK.value else 2500)
  questions = generation.generate(config).questions
  accuracies = guess_accuracies(questions['train'], questions['test'])
  print(
    json.dumps(
      {
        'name': 'world_guessing',
        'unit': 'exact match, percent (lower is better for a test of reading)',
        'rows': [
          {'case': case, 'ours': round(value, 1), 'peer': None, 'ratio': None}
          for case, value in accuracies.items()
        ],
      }
    )
  )


if __name__ == '__main__':
  app.run(main)
