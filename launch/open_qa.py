r"""The paper's benchmarks: questions of several files on a Wikipedia.

  python -m launch.open_qa MODEL ARTICLES QUESTIONS[,QUESTIONS...] RUN_DIR \
      [--rows=bm25,encoder] [--layers=3]
  python -m launch.table1 launch/open_qa.py RUN_DIR/questions/train.jsonl \
      RUN_DIR/questions/NAME_test.jsonl,... RUN_DIR --rows=realm,orqa,bm25

Time: a seed 100 minutes of a core; an H100 embedded most of the indexes.
Recall@5 of 2,090 questions on 6,514 articles: BM25 14.7, ICT 12.0, REALM 13.5,
MiniLM 19.5; exact match after table1: BM25 2.6, ICT 3.1, REALM 3.4
(docs/results/real_text.md).

MODEL is a Hugging Face BERT directory; ARTICLES, an --input of bin.make_blocks,
are Z and X. QUESTIONS, JSON lines, are e.g. NaturalQuestions-Open,
WebQuestions and CuratedTREC (answers with "regex": true); a tenth of each file
becomes dev, a tenth test, the rest train. Row `encoder` is MODEL, untrained.
With --layers the other rows start from MODEL's first layers, for an encoder
that has seen the questions in its own training. A sample of Wikipedia has no
answer to most questions. table1 fine-tunes on all files: exact match.
"""

import gzip
import json
import os
import pathlib
import random
import shutil

from . import common
from . import runner
from . import tables

from realm_tf.config import config_files

# An index of 6,500 articles takes a quarter of an hour, so few are made: in 120
# steps an index hardly grows old. Tuning another searcher takes as long.
CONFIG = config_files.merge(
  tables.CONFIG,
  {
    'held_out': {'share': 0.0},
    'index': {'searcher': 'brute_force'},
    'pretraining': {
      'optimizer': {'num_steps': 120, 'warmup_steps': 15},
      'refresh_every_steps': 120,
      'checkpoint_every_steps': 30,
    },
    'finetuning': {'optimizer': {'num_steps': 560, 'warmup_steps': 56}},
  },
)
_ROWS = ('bm25', 'encoder', 'ict', 'realm', 'realm_best')


def split(names: list[str], questions: list[str], output: str) -> None:
  """Writes train, dev and test of each file; an action of a stage."""
  os.mkdir(output)
  train: list[str] = []
  for name, path in zip(names, questions, strict=True):
    opened = gzip.open if path.endswith('.gz') else open
    with opened(path, 'rt', encoding='utf-8') as file:
      lines = [line.strip() + '\n' for line in file if line.strip()]
    random.Random(0).shuffle(lines)
    tenth = len(lines) // 10
    parts = {'dev': lines[:tenth], 'test': lines[tenth : 2 * tenth]}
    train += lines[2 * tenth :]
    for part, chosen in parts.items():
      pathlib.Path(output, f'{name}_{part}.jsonl').write_text(''.join(chosen))
  pathlib.Path(output, 'train.jsonl').write_text(''.join(train))


def cut_layers(model: str, layers: int, output: str) -> None:
  """Copies a BERT without its last layers; an action of a stage."""
  shutil.copytree(model, output, copy_function=shutil.copyfile)
  path = pathlib.Path(output, 'config.json')
  sizes = json.loads(path.read_text())
  path.write_text(json.dumps({**sizes, 'num_hidden_layers': layers}))


def stages(
  recipe: runner.Recipe,
  model: str,
  articles: str,
  questions: str,
  *,
  rows: str = 'all',
  layers: int = 0,
) -> None:
  """Adds the stages of --rows, each alone and with BM25's scores."""
  chosen = common.rows(rows, _ROWS)
  files = questions.split(',')
  names = [os.path.basename(path).split('.')[0] for path in files]
  parts = recipe.stage(
    'questions',
    split,
    names=names,
    questions=[runner.Input(path) for path in files],
    output=runner.OUTPUT,
  )
  tests = {f'{name}_test': parts / f'{name}_test.jsonl' for name in names}
  start: str = model
  if layers:
    start = recipe.stage(
      'first_layers',
      cut_layers,
      model=runner.Input(model),
      layers=layers,
      output=runner.OUTPUT,
    )
  jobs = tables.Tables(
    recipe,
    start,
    [runner.Input(articles)],
    list(tests.values()),
    config=CONFIG,
    recall_at='1,5,20,100',
  )
  whole = jobs.imported('encoder', model) if 'encoder' in chosen else ''
  measured = [each for row in chosen for each in _measured(jobs, row, whole)]
  for test, path in tests.items():
    evaluations = [each / test for each in measured]
    common.results(recipe, f'{test}.json', evaluations, questions=path)


def _measured(jobs: tables.Tables, row: str, whole: str) -> list[runner.Output]:
  """Returns a row's evaluations; `whole` is the encoder with all layers."""
  if row == 'bm25':  # It needs no model.
    return [jobs.evaluate(row, retriever='bm25')]
  if row == 'encoder':
    jobs.index('index_encoder', whole, set='index.searcher=brute_force')
    found = jobs.evaluate(row, model_dir=whole, sparse_weight=[0, 1])
  else:
    found = jobs.evaluate_row(row, sparse_weight=[0, 1])
  return [found / 'sparse_0', found / 'sparse_1']


def main():
  runner.main(__doc__, stages, common.printed_tables)


if __name__ == '__main__':
  main()
