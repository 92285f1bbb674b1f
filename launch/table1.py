r"""A small version of the paper's Table 1: REALM and its rivals.

  python -m launch.table1 launch/tables.py TRAIN TEST[,TEST...] RUN_DIR \
      [--rows=realm,t5] [--name=two_hops]

Time: 8 to 9 minutes a row on one core, after tables.py (560 steps of 16).
Exact match on 4,794 SQuAD questions: REALM 30.1, ORQA 29.8, BM25 36.2, TF-IDF
31.3, PathRetriever 29.0 (docs/results/real_text.md).

RUN_DIR is a finished run of the first argument: quickstart.py or tables.py.
TRAIN and TEST are questions; each TEST makes a table. --rows makes only these
rows: of the table, or own_reader, REALM with its own reader, or the name of
another pre-training in RUN_DIR, such as realm_best. --name, of all results,
tells tables with other TRAIN questions apart. RUN_DIR/table1.html has all
tables and curves.
"""

import os
from typing import Any

from . import common
from . import runner

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.config import config_files

# Row -> its embedders in the finished run, and its retriever.
_ROWS = {
  'realm': ('realm', 'model'),
  'orqa': ('ict', 'model'),
  'bm25': ('ict', 'bm25'),
  'tfidf': ('ict', 'tfidf'),
  'hard_em': ('ict', 'bm25'),
  't5': ('', 'none'),
  # The next two rows need a corpus of make_blocks --links.
  'graph': ('ict', 'bm25_graph'),
  'path': ('realm', 'path'),
}
_OWN_READER = 'own_reader'


def _row(row: str) -> tuple[str, str]:
  name = 'realm' if row == _OWN_READER else row
  return _ROWS.get(name, (name, 'model'))


def _model(
  jobs: common.Jobs,
  config: config_lib.ExperimentConfig,
  row: str,
  *,
  questions: runner.Input,
  name: str,
) -> runner.Output:
  """Adds the trainings of a row, from models of the finished run."""
  recipe = jobs.recipe
  if row == 'hard_em':
    config = config_files.override(config, ['finetuning.objective=hard_em'])
  # The quickstart has a reader that learned spans; else it is the encoder.
  has_spans = os.path.exists(os.path.join(recipe.run_dir, 'span_reader'))
  flags: dict[str, Any] = {'questions': questions}
  if row == 't5':
    queries = _finished(recipe, 'reader_queries' if has_spans else 'queries')
    words = jobs.train('t5', 'train_closed_book', config, queries_dir=queries)
    return jobs.train(
      f'{name}_t5', 'train_closed_book', config, init_from=words, **flags
    )
  before, retriever = _row(row)
  flags['model_of'] = embedders = _finished(recipe, before)
  reader = _finished(recipe, 'span_reader' if has_spans else 'start')
  if row == _OWN_READER:
    reader = embedders
  if row == 'path':
    embedders = jobs.train(
      f'{name}_paths', 'train_path', config, init_from=embedders, **flags
    )
  return jobs.train(
    f'{name}_{row}',
    'finetune',
    config,
    retriever=retriever,
    init_from=embedders,
    reader_init_from=reader,
    **flags,
  )


def _finished(recipe: runner.Recipe, name: str) -> runner.Input:
  """Returns an output of the finished run."""
  path = os.path.join(recipe.run_dir, name)
  if not os.path.exists(path):
    raise errors.UserError(
      'RUN_DIR must be a finished run of launch.quickstart or launch.tables. '
      f'Found no {path}. Run one of them first.'
    )
  return runner.Input(path)


def stages(
  recipe: runner.Recipe,
  launch_file: str,
  train: str,
  test: str,
  *,
  rows: str = 'all',
  name: str = 'table1',
) -> None:
  """Adds the trainings of --rows, a table of each TEST, and a page."""
  config = recipe.config(config_files.load(launch_file))
  jobs = common.Jobs(
    recipe,
    _finished(recipe, 'corpus'),
    learning={'cost': 500},
    measuring={'num_read': 5},
  )
  questions = runner.Input(train)
  models = {
    row: _model(jobs, config, row, questions=questions, name=name)
    for row in (_ROWS if rows == 'all' else rows.split(','))
  }
  tables = []
  for test_file in test.split(','):
    questions = runner.Input(test_file)
    end = os.path.basename(test_file).partition('.jsonl')[0]
    evaluations = [
      jobs.evaluate(
        f'{name}_{row}_{end}',
        model_dir=model,
        retriever=_row(row)[1],
        questions=questions,
      )
      for row, model in models.items()
    ]
    table = f'{name}_all_{end}.json'
    tables.append(
      common.results(
        recipe, table, evaluations, questions=questions, costs=True
      )
    )
  recipe.stage(
    f'{name}.html',
    'report',
    run_dir=list(models.values()),
    results=tables,
    output=runner.OUTPUT,
  )


def main():
  runner.main(__doc__, stages, common.printed_tables)


if __name__ == '__main__':
  main()
