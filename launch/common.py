"""Stages, a flag and the last text of several recipes."""

from collections.abc import Iterable, Mapping, Sequence
import glob
import os
import re
from typing import Any, Optional

from . import runner

from realm_tf import config as config_lib
from realm_tf.config import config_files


class Jobs:
  """Adds stages that read one corpus.

  Args:
    learning: Flags of trainings.
    measuring: Flags of evaluations.
    costs: Training -> its seconds on one core, where known.
  """

  def __init__(
    self,
    recipe: runner.Recipe,
    corpus: str,
    *,
    learning: dict[str, Any],
    measuring: dict[str, Any],
    costs: Optional[Mapping[str, float]] = None,
  ):
    self.recipe, self.corpus, self._costs = recipe, corpus, costs or {}
    self._learning = {'corpus_dir': corpus, **learning}
    self._measuring = {'corpus_dir': corpus, **measuring}

  def queries(
    self, name: str, texts: Sequence[str], **flags: Any
  ) -> runner.Output:
    """Adds sentences with spans to mask."""
    flags = {'input': list(texts), 'corpus_dir': self.corpus, **flags}
    return self.recipe.stage(
      name, 'make_queries', output_dir=runner.OUTPUT, **flags
    )

  def train(
    self, name: str, binary: str, config: config_lib.ExperimentConfig, **flags
  ) -> runner.Output:
    """Adds a training job."""
    if name in self._costs:
      flags['cost'] = self._costs[name]
    flags = {**self._learning, **flags}
    return self.recipe.stage(
      name, binary, config, run_dir=runner.OUTPUT, **flags
    )

  def train_on_questions(
    self,
    config: config_lib.ExperimentConfig,
    second: dict[str, Any],
    *,
    init_from: str,
    reader_init_from: str = '',
    **texts: Any,
  ) -> runner.Output:
    """Adds the trainings of the towers, then of the reader with 1 and 2 blocks.

    Args:
      second: Fields of `finetuning` for the reader's second part.
    """
    towers = self.train(
      'towers', 'warm_start', config, init_from=init_from, **texts
    )
    gold = self.train(
      'gold',
      'finetune',
      config,
      init_from=towers,
      reader_init_from=reader_init_from,
      **texts,
    )
    # Another seed gives another order of the questions.
    changes = {'seed': config.seed + 1, 'finetuning': {'num_read': 2, **second}}
    both = config_files.merge(config, changes)
    return self.train('qa', 'finetune', both, init_from=gold, **texts)

  def index(self, name: str, model: str, **flags: Any) -> runner.Output:
    """Adds a model's index, by default in the directory of a stage's model."""
    if 'at' not in flags and isinstance(model, runner.Output):
      flags['at'] = model / 'index'
    flags = {'corpus_dir': self.corpus, **flags}
    return self.recipe.stage(
      name, 'build_index', model_dir=model, output_dir=runner.OUTPUT, **flags
    )

  def evaluate(self, name: str, **flags: Any) -> runner.Output:
    """Adds an evaluation, with the output eval/`name`."""
    flags = {'at': f'eval/{name}', **self._measuring, **flags}
    return self.recipe.stage(
      f'evaluate_{name}', 'evaluate', output_dir=runner.OUTPUT, **flags
    )


def results(
  recipe: runner.Recipe,
  name: str,
  tables: Iterable[Sequence[runner.Output]],
  **flags: Any,
) -> runner.Output:
  """Adds the file `name`: a table of each sequence of evaluations."""
  tables = [table for table in tables if table]
  folder = os.path.join(recipe.run_dir, 'eval')
  return recipe.stage(
    name,
    'results_table',
    needs=[evaluation for table in tables for evaluation in table],
    run_dir=recipe.run_dir,
    rows=[
      ','.join(os.path.relpath(path, folder) for path in table)
      for table in tables
    ],
    output=runner.OUTPUT,
    **flags,
  )


def printed_tables(run_dir: str) -> str:
  """Returns the tables that the stages of `results` have printed."""
  lines = []
  for path in sorted(glob.glob('logs/*.json.log', root_dir=run_dir)):
    with open(os.path.join(run_dir, path)) as file:
      # The first line is the command; TensorFlow's own lines have a date.
      lines += [line for line in file if not re.match(r'\$ |\d{4}-', line)]
  return ''.join(lines).strip()
