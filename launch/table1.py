r"""A small version of the paper's Table 1: REALM and its rivals.

  python -m launch.table1 launch/tables.py TRAIN TEST[,TEST...] RUN_DIR \
      [--rows=realm,t5] [--name=two_hops]

RUN_DIR is a finished run of the first argument: quickstart.py or tables.py.
TRAIN and TEST are questions; each TEST makes a table. --rows makes only these
rows. --name, of all results, tells tables with other TRAIN questions apart.
RUN_DIR/table1.html has all tables and curves.
"""

import os
from typing import Any

from . import common
from . import runner

from realm_tf import errors
from realm_tf.config import config_files

# Row -> the embedders that fine-tuning starts from, and the retriever.
_ROWS = {
  'realm': ('realm', 'model'),
  'orqa': ('ict', 'model'),
  'bm25': ('ict', 'bm25'),
  'tfidf': ('ict', 'tfidf'),
  'hard_em': ('ict', 'bm25'),
  't5': ('t5', 'none'),
  # The next two rows need a corpus of make_blocks --links.
  'graph': ('ict', 'bm25_graph'),
  'path': ('paths', 'path'),
}


class _Table:
  """Adds the trainings of rows, from the models of a finished run.

  Args:
    questions: Training questions.
  """

  def __init__(
    self, recipe: runner.Recipe, launch_file: str, questions: str, *, name: str
  ):
    self._recipe, self._name = recipe, name
    self._config = recipe.config(config_files.load(launch_file))
    self._questions = runner.Input(questions)
    self.corpus = self._finished('corpus')
    # The quickstart has a reader that learned spans; else it is the encoder.
    has_spans = os.path.exists(os.path.join(recipe.run_dir, 'span_reader'))
    self._reader = self._finished('span_reader' if has_spans else 'start')
    self._queries = 'reader_queries' if has_spans else 'queries'

  def model(self, row: str) -> runner.Output:
    """Adds a row's training on questions."""
    embedders, retriever = _ROWS[row]
    if row == 't5':
      queries = self._finished(self._queries)
      words = self._train('t5', 'train_closed_book', queries_dir=queries)
      return self._tune('t5', 'train_closed_book', init_from=words)
    realm = self._finished('realm')
    if row == 'path':
      init_from = self._tune(
        'paths', 'train_path', init_from=realm, model_of=realm
      )
    else:
      init_from = self._finished(embedders)
    return self._tune(
      row,
      'finetune',
      retriever=retriever,
      model_of=realm,
      init_from=init_from,
      reader_init_from=self._reader,
    )

  def _finished(self, name: str) -> runner.Input:
    """Returns an output of the finished run."""
    path = os.path.join(self._recipe.run_dir, name)
    if not os.path.exists(path):
      raise errors.UserError(
        'RUN_DIR must be a finished run of launch.quickstart or launch.tables. '
        f'Found no {path}. Run one of them first.'
      )
    return runner.Input(path)

  def _tune(self, name: str, binary: str, **flags: Any) -> runner.Output:
    return self._train(
      f'{self._name}_{name}', binary, questions=self._questions, **flags
    )

  def _train(self, name: str, binary: str, **flags: Any) -> runner.Output:
    changes = []
    if name.endswith('hard_em'):
      changes = ['finetuning.objective=hard_em']
    return self._recipe.stage(
      name,
      binary,
      config_files.override(self._config, changes),
      corpus_dir=self.corpus,
      run_dir=runner.OUTPUT,
      cost=500,
      **flags,
    )


def stages(
  recipe: runner.Recipe,
  launch_file: str,
  train: str,
  test: str,
  *,
  rows: str = 'all',
  name: str = 'table1',
) -> None:
  """Adds the trainings of --rows, a table of each TEST, and a report."""
  chosen = common.names_of('rows', rows, _ROWS)
  table = _Table(recipe, launch_file, train, name=name)
  models = {row: table.model(row) for row in chosen}
  tables = []
  for path in test.split(','):
    end = os.path.basename(path).partition('.jsonl')[0]
    evaluations = [
      common.evaluate(
        recipe,
        f'{name}_{row}_{end}',
        model_dir=model,
        retriever=_ROWS[row][1],
        corpus_dir=table.corpus,
        questions=runner.Input(path),
        num_read=5,
      )
      for row, model in models.items()
    ]
    flags = {'questions': runner.Input(path), 'costs': True}
    tables.append(
      common.results(recipe, f'{name}_all_{end}.json', [evaluations], **flags)
    )
  common.report(recipe, f'{name}.html', list(models.values()), tables)


def main():
  runner.main(__doc__, stages, common.printed_tables)


if __name__ == '__main__':
  main()
