"""The trained tagger: entity F1 on places it has not met, and its speed.

  python -m benchmarks.tagger [--quick]

Trains on sentences of the embedded world in CoNLL columns: places are LOC,
other names MISC; a tenth of the places is in the dev part only. Then tags the
world's articles with it and, as the peer, with the rules. Speed is in sentences
a second of CPU time, starting included.
"""

import json
import os
import re
import sys
import tempfile
import zlib

from absl import app
from absl import flags

from benchmarks import printing
from benchmarks import processes
from realm_tf import config as config_lib
from realm_tf.corpus import entity_labels
from realm_tf.world import generation

_QUICK = flags.DEFINE_bool('quick', False, 'A small world and few steps.')
_WORD = re.compile(r'\w+|[^\w\s]')


def _columns(sentence, places: set[str]) -> str:
  """Returns a sentence in CoNLL's four columns."""
  words = list(_WORD.finditer(sentence.text))
  entities = []
  for start, end in sentence.spans:
    name = sentence.text[start:end]
    inside = [i for i, w in enumerate(words) if start <= w.start() < end]
    if inside and not any(character.isdigit() for character in name):
      kind = 'LOC' if name in places else 'MISC'
      entities.append(entity_labels.Entity(inside[0], inside[-1] + 1, kind))
  labels = entity_labels.encode(len(words), entities)
  lines = [
    f'{word.group()} - - {label}\n'
    for word, label in zip(words, labels, strict=True)
  ]
  return ''.join(lines) + '\n'


def _write(world, directory: str) -> dict[str, str]:
  """Writes train and dev columns, and articles to tag; returns the paths."""
  paths = {
    name: os.path.join(directory, name) for name in ('train', 'dev', 'articles')
  }
  places = {article.title for article in world.articles}
  with open(paths['train'], 'w') as train, open(paths['dev'], 'w') as dev:
    for sentence in world.sentences:
      is_dev = zlib.crc32(sentence.article_id.encode()) % 10 == 0
      (dev if is_dev else train).write(_columns(sentence, places))
  generation.write_articles(world.articles, paths['articles'])
  return paths


def _run(binary: str, *arguments: str) -> processes.Cost:
  return processes.run([sys.executable, '-m', f'bin.{binary}', *arguments])


def _tag(corpus: str, articles: str, tagger: str, output: str) -> float:
  """Returns sentences tagged a second of CPU time."""
  cost = _run(
    'make_queries',
    f'--input={articles}',
    f'--corpus_dir={corpus}',
    f'--tagger={tagger}',
    f'--output_dir={output}',
  )
  with open(os.path.join(output, 'manifest.json')) as file:
    source = json.load(file)['source']
  number = source['kept']['sentences'] + sum(source['left_out'].values())
  return number / cost.cpu_secs


def _rows(directory: str):
  config = config_lib.WorldConfig(num_cities=100 if _QUICK.value else 2500)
  paths = _write(generation.generate(config), directory)
  corpus, tagger = (os.path.join(directory, x) for x in ('corpus', 'tagger'))
  _run('make_blocks', f'--input={paths["articles"]}', f'--output_dir={corpus}')
  training = _run(
    'train_tagger',
    '--config=launch/quickstart.py',
    f'--set=tagger.optimizer.num_steps={30 if _QUICK.value else 600}',
    '--set=tagger.optimizer.learning_rate=1e-3',
    '--set=tagger.optimizer.warmup_steps=10',
    f'--train={paths["train"]}',
    f'--dev={paths["dev"]}',
    f'--vocab_file={corpus}/vocab.txt',
    f'--output_dir={tagger}',
  )
  with open(os.path.join(tagger, 'metrics.json')) as file:
    metrics = json.load(file)
  yield {
    'case': 'entity F1 on dev, percent',
    'ours': metrics['f1'],
    'peer': None,
    'ratio': None,
    **metrics,
    'training_wall_secs': training.wall_secs,
  }
  ours, peer = (
    _tag(corpus, paths['articles'], spec, os.path.join(directory, name))
    for spec, name in ((f'bert:{tagger}', 'bert'), ('rules', 'rules'))
  )
  yield {
    'case': 'sentences a second of CPU, bert; the peer is rules',
    'ours': ours,
    'peer': peer,
    'ratio': ours / peer,
  }


def main(_):
  with tempfile.TemporaryDirectory() as directory:
    printing.print_rows('tagger', 'see case', _rows(directory))


if __name__ == '__main__':
  app.run(main)
