"""Stages, settings and the last text of several recipes."""

from collections.abc import Mapping, Sequence
import os
import re
from typing import Any

from . import runner

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.config import config_files

# --set of an imported encoder: its own dropout is for texts seen more often.
NO_DROPOUT = [
  f'model.{field}=0'
  for field in (
    'embedder_bert.dropout_rate',
    'embedder_bert.attention_dropout_rate',
    'reader_bert.dropout_rate',
    'reader_bert.attention_dropout_rate',
    'embedder.dropout_rate',
  )
]


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
    costs: Mapping[str, float] | None = None,
  ):
    self.recipe, self.corpus, self.costs = recipe, corpus, costs or {}
    self._learning = {'corpus_dir': corpus, **learning}
    self._measuring = {'corpus_dir': corpus, **measuring}

  def queries(self, name: str, *, input: Any, **flags: Any) -> runner.Output:
    """Adds sentences with spans to mask."""
    flags = {'input': input, 'corpus_dir': self.corpus, **flags}
    return self.recipe.stage(
      name, 'make_queries', output_dir=runner.OUTPUT, **flags
    )

  def train(
    self, name: str, binary: str, config: config_lib.ExperimentConfig, **flags
  ) -> runner.Output:
    """Adds a training job."""
    cost = {'cost': self.costs[name]} if name in self.costs else {}
    flags = {**self._learning, **cost, **flags}
    return self.recipe.stage(
      name, binary, config, run_dir=runner.OUTPUT, **flags
    )

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


def reader_warm_up(
  config: config_lib.ExperimentConfig,
  *,
  learning_rate: float,
  num_steps: int,
  batch_size: int,
) -> config_lib.ExperimentConfig:
  """Returns pre-training of a reader alone, from text, for bin.pretrain.

  The reader fills in a masked sentence from a block with the masked words,
  which BM25 finds.
  """
  warm_up = {
    'optimizer': {'learning_rate': learning_rate, 'num_steps': num_steps},
    'candidates': 'recurring_span',
    'num_candidates': 1,
    'oversampling': 3,
    'batch_size': batch_size,
    'inverse_cloze_weight': 0.0,
  }
  return config_files.merge(config, {'pretraining': warm_up})


def rows(given: str, known: Sequence[str]) -> list[str]:
  """Returns the names in --rows; UserError for one that is not known."""
  chosen = list(known) if given == 'all' else given.split(',')
  if not set(chosen).issubset(known):
    raise errors.UserError(
      f'--rows must be some of {", ".join(known)}. Found {given}. Correct it, '
      'or leave --rows out.'
    )
  return chosen


def results(
  recipe: runner.Recipe,
  name: str,
  evaluations: Sequence[runner.Output],
  **flags: Any,
) -> runner.Output:
  """Adds the file `name`: a table with a row for each evaluation."""
  folder = os.path.join(recipe.run_dir, 'eval')
  return recipe.stage(
    name,
    'results_table',
    needs=evaluations,
    run_dir=recipe.run_dir,
    rows=','.join(os.path.relpath(path, folder) for path in evaluations),
    output=runner.OUTPUT,
    **flags,
  )


def printed_tables(recipe: runner.Recipe) -> str:
  """Returns the tables that the stages of `results` have printed."""
  lines = []
  for name in sorted(n for n in recipe.stages if n.endswith('.json')):
    with open(os.path.join(recipe.run_dir, 'logs', f'{name}.log')) as file:
      # The first line is the command; TensorFlow's own lines have a date.
      lines += [line for line in file if not re.match(r'\$ |\d{4}-', line)]
  return ''.join(lines).strip()
