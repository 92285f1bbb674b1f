"""Stages and a flag that several recipes have."""

from collections.abc import Iterable, Sequence
import glob
import os
import re
from typing import Any

from . import runner

from realm_tf import errors


def imported(recipe: runner.Recipe, name: str, model: str) -> runner.Output:
  """Adds the import of a Hugging Face directory."""
  return recipe.stage(
    name,
    'import_checkpoint',
    source=runner.Input(f'hf:{model}'),
    output_dir=runner.OUTPUT,
  )


def sentences(
  recipe: runner.Recipe, name: str, texts: Sequence[str], corpus: str
) -> runner.Output:
  """Adds the sentences of articles, with salient spans."""
  return recipe.stage(
    name,
    'make_queries',
    input=texts,
    tagger='rules',
    corpus_dir=corpus,
    output_dir=runner.OUTPUT,
  )


def refresher(corpus: str) -> tuple[str, dict[str, Any]]:
  """Returns the companion of bin.pretrain that rebuilds its index."""
  return 'refresh_index', {'run_dir': runner.OUTPUT, 'corpus_dir': corpus}


def index(
  recipe: runner.Recipe, model: runner.Output, corpus: str, **flags: Any
) -> runner.Output:
  """Adds a model's index, in its directory."""
  return recipe.stage(
    f'index_{os.path.basename(model)}',
    'build_index',
    at=model / 'index',
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


def report(
  recipe: runner.Recipe,
  name: str,
  models: Sequence[runner.Output],
  tables: Sequence[runner.Output],
) -> runner.Output:
  """Adds the page `name`, with curves of models and tables."""
  return recipe.stage(
    name, 'report', run_dir=models, results=tables, output=runner.OUTPUT
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
