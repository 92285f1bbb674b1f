r"""Rivals in adapting a sentence encoder to articles without questions.

  bash benchmarks/peers.sh
  python -m benchmarks.adapt_rivals ENCODER ARTICLES QUESTIONS RUN_DIR \
      [--qrels=FILE] [--seeds=0,1] [--set=inverse_cloze.optimizer.num_steps=75]

ENCODER, a Hugging Face BERT, learns from ARTICLES (an --input of
bin.make_blocks) by TSDAE, by SimCSE and from pairs of crops, as
benchmarks/peer_adapt.py says, and by this project's Inverse Cloze Task with
own_text's settings. The peers get --secs of one processor; give ICT as many
steps. All are judged by bin.evaluate, alone and with own_text's share of BM25:
nDCG@10 of --qrels with paired tests, else recall of answers. RUN_DIR/runs has
the ranked articles, in TREC's format.
"""

import json
import os
import pathlib
import re
import subprocess
from typing import Any

from benchmarks import paired_runs
from launch import common
from launch import own_text
from launch import own_text_choice
from launch import runner
from launch import squad_stages
from realm_tf.config import config_files
from realm_tf.records import block_table
from realm_tf.text import sentences as sentences_lib


def write_sentences(corpus_dir: str, output: str) -> None:
  """Writes each article's sentences as a JSON line; an action of a stage."""
  table = block_table.BlockTable.open(corpus_dir)
  articles: dict[str, list[str]] = {}
  for block in range(table.num_blocks):
    (name,), (text,) = table.article_ids([block]), table.texts([block])
    articles.setdefault(name, []).extend(
      text[start:end] for start, end in sentences_lib.split_sentences(text)
    )
  with open(output, 'w', encoding='utf-8') as file:
    for each in articles.values():
      file.write(json.dumps({'sentences': each}) + '\n')


def adapt(
  method: str, encoder: str, articles: str, secs: float, seed: int, output: str
) -> None:
  """Trains a peer in its own environment; an action of a stage."""
  peers = os.environ.get('REALM_PEERS', '.peers')
  script = pathlib.Path(__file__).parent / 'peer_adapt.py'
  command = [os.path.join(peers, 'bin/python'), script, method, encoder]
  subprocess.run([*command, articles, output, str(secs), str(seed)], check=True)


def compare(evaluations: list[list[str]], qrels: str, output: str) -> None:
  """Writes a paired comparison of each table; an action of a stage."""
  folder = pathlib.Path(output).parent / 'runs'
  texts = []
  for names in evaluations:
    rows: dict[str, list[str]] = {}  # Method -> a run for each seed.
    for name in names:
      method = re.sub('_[0-9]+', '', name)
      rows.setdefault(method, []).append(str(folder / f'{name}.trec'))
    texts.append(paired_runs.table(qrels, rows))
  pathlib.Path(output).write_text('\n'.join(texts), encoding='utf-8')


class _Rivals(squad_stages.Imported):
  """Stages of the rows: the start, then a model for each method and seed."""

  def __init__(self, recipe: runner.Recipe, encoder: str, *inputs: Any, qrels):
    self._encoder = encoder
    judging = {'recall_at': '1,5,20,100', 'qrels': qrels}
    super().__init__(
      recipe, encoder, *inputs, config=own_text.CONFIG, judging=judging
    )
    self._sentences = recipe.stage(
      'sentences.jsonl',
      write_sentences,
      corpus_dir=self.corpus,
      output=runner.OUTPUT,
    )

  def adapted(self, method: str, seed: int, secs: float) -> runner.Output:
    """Adds the training of a method."""
    name = f'{method}_{seed}'
    if method == 'ict':
      config = config_files.override(self.config, [f'seed={seed}'])
      return self.train(name, 'warm_start', config, init_from=self.start)
    peer = self.recipe.stage(
      f'{name}_peer',
      adapt,
      method=method,
      encoder=runner.Input(self._encoder),
      articles=self._sentences,
      secs=secs,
      seed=seed,
      output=runner.OUTPUT,
      cost=secs,
    )
    return self.imported(name, peer)

  def judged(self, name: str, **search: Any) -> list[runner.Output]:
    """Adds a row's evaluations, alone and, of a model, with BM25's scores."""
    if 'model_dir' in search:
      self.index(f'{name}_index', search['model_dir'], cost=60)
    rows = [name, f'{name}_bm25'] if 'model_dir' in search else [name]
    return [
      self.evaluate(
        row,
        sparse_weight=own_text_choice.WEIGHT if row != name else 0,
        trec_run=os.path.join(self.recipe.run_dir, 'runs', f'{row}.trec'),
        **search,
      )
      for row in rows
    ]


def stages(
  recipe: runner.Recipe,
  encoder: str,
  articles: str,
  questions: str,
  *,
  qrels: str = '',
  seeds: str = '0',
  methods: str = 'ict,tsdae,simcse,crops',
  secs: float = 360.0,
) -> None:
  """Adds each method's training and evaluation, and the tables."""
  os.makedirs(os.path.join(recipe.run_dir, 'runs'), exist_ok=True)
  rivals = _Rivals(
    recipe,
    encoder.removeprefix('hf:'),
    [runner.Input(articles)],
    [runner.Input(questions)],
    qrels=runner.Input(qrels),
  )
  rows = {
    'start': rivals.judged('start', model_dir=rivals.start),
    'bm25': rivals.judged('bm25', retriever='bm25'),
  }
  for method in methods.split(','):
    for seed in seeds.split(','):
      model = rivals.adapted(method, int(seed), secs)
      name = f'{method}_{seed}'
      rows[name] = rivals.judged(name, model_dir=model)
  tables = [[row[0] for row in rows.values()]]
  tables.append([row[1] for row in rows.values() if len(row) > 1])
  if not qrels:
    common.results(recipe, 'results.json', tables, questions=questions)
    return
  recipe.stage(
    'ndcg.txt',
    compare,
    evaluations=[list(map(os.path.basename, each)) for each in tables],
    qrels=runner.Input(qrels),
    output=runner.OUTPUT,
    needs=[each for table in tables for each in table],
  )


def summary(run_dir: str) -> str:
  """Returns the tables."""
  path = pathlib.Path(run_dir, 'ndcg.txt')
  return path.read_text() if path.exists() else common.printed_tables(run_dir)


def main():
  runner.main(__doc__, stages, summary)


if __name__ == '__main__':
  main()
