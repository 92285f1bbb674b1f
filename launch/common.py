"""Stages, a flag and the last text of several recipes."""

from collections.abc import Iterable, Sequence
import glob
import os
import re
from typing import Any

from . import runner

from realm_tf import errors


def squad_files(folder: str) -> dict[str, runner.Input]:
  """Returns name -> corpus or questions of SQuAD's train and val."""
  names = ('train_corpus', 'val_corpus', 'train_qa', 'val_qa')
  return {name: runner.Input(f'{folder}/{name}.jsonl.gz') for name in names}


def index(
  recipe: runner.Recipe, at: str, model: str, corpus: str, **flags: Any
) -> runner.Output:
  """Adds a model's index."""
  return recipe.stage(
    f'index_{os.path.basename(model)}',
    'build_index',
    at=at,
    model_dir=model,
    corpus_dir=corpus,
    output_dir=runner.OUTPUT,
    **flags,
  )


def evaluate(recipe: runner.Recipe, name: str, **flags: Any) -> runner.Output:
  """Adds an evaluation, with the output eval/`name`."""
  return recipe.stage(
    f'evaluate_{name}',
    'evaluate',
    at=f'eval/{name}',
    output_dir=runner.OUTPUT,
    **flags,
  )


def results(
  recipe: runner.Recipe,
  name: str,
  tables: Iterable[Sequence[runner.Output]],
  **flags: Any,
) -> runner.Output:
  """Adds the file `name`: a table of each sequence of evaluations."""
  tables = [table for table in tables if table]
  return recipe.stage(
    name,
    'results_table',
    needs=[evaluation for table in tables for evaluation in table],
    run_dir=recipe.run_dir,
    rows=[','.join(map(os.path.basename, table)) for table in tables],
    output=runner.OUTPUT,
    **flags,
  )


def names_of(flag: str, given: str, known: Iterable[str]) -> list[str]:
  """Returns the names of --`flag`, as a,b; 'all' are the known ones."""
  known = list(known)
  names = known if given == 'all' else [n for n in given.split(',') if n]
  for name in names:
    if name not in known:
      raise errors.UserError(
        f'--{flag} must be some of {", ".join(known)}. Found {name}. Correct '
        f'it, or leave --{flag} out.'
      )
  return names


def printed_tables(run_dir: str) -> str:
  """Returns the tables that the stages of `results` have printed."""
  lines = []
  for path in sorted(glob.glob('logs/*.json.log', root_dir=run_dir)):
    with open(os.path.join(run_dir, path)) as file:
      # The first line is the command; TensorFlow's own lines have a date.
      lines += [line for line in file if not re.match(r'\$ |\d{4}-', line)]
  return ''.join(lines).strip()
