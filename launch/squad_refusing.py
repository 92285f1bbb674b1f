r"""Refusing on SQuAD, half of whose paragraphs are taken out of the corpus.

  python -m launch.squad_refusing MODEL SQUAD_OPEN RUN_DIR [--trained_on=FILE]

MODEL is a model directory with a reader that val's questions did not train,
such as RUN_DIR/gold of launch.own_text. The articles of the questions that did,
--trained_on, are left out. SQUAD_OPEN is as for launch/open_squad.py.

The reader goes on in two ways: `before`, on answerable questions, with raw
probabilities; and `after`, on the same ones and half as many without an answer,
with null spans, and calibrated on dev. A MiniLM takes about 50 minutes of a
core: 30 for 10,000 questions with two blocks, 20 for 10,200 answers from five.
"""

import json
from typing import Any

from . import common
from . import own_text
from . import runner
from . import squad_taken_out

import numpy as np

from realm_tf.config import config_files

CONFIG = config_files.merge(
  own_text.CONFIG,
  {
    'finetuning': {
      'optimizer': {'learning_rate': 1e-4, 'num_steps': 250},
      'num_read': 2,
      'supervision': 'gold',
      # Sorted by their gold blocks, impossible questions would fill batches.
      'bucket_batches': 1,
    }
  },
)
# Each answerable question is read as often as without the others.
_WITH_NULLS = {
  'finetuning': {'optimizer': {'num_steps': 375}, 'null_spans': True}
}
_SEARCH: dict[str, Any] = {'sparse_weight': 1.0, 'num_read': 5}
_SIZES = {
  'train': squad_taken_out.Sizes(40, 1 / 3, 4000, 2000),
  'dev': squad_taken_out.Sizes(14, 1 / 2, 600, 600),
  'test': squad_taken_out.Sizes(28, 1 / 2, 2250, 2250),
}
_FIELDS = {  # Field of metrics.json -> its name.
  'auroc': 'AUROC, answerable and taken out',
  'coverage@80': 'coverage at 80 % accuracy',
  'coverage@90': 'coverage at 90 % accuracy',
  'risk_coverage_area': 'area under risk by coverage',
  'expected_calibration_error': 'calibration error',
  'refused_answerable': 'refused, of answerable',
  'refused_impossible': 'refused, of taken out',
}


def stages(
  recipe: runner.Recipe, model: str, squad_open: str, *, trained_on: str = ''
) -> None:
  """Adds the splits, both trainings, the calibration and both evaluations."""
  config = recipe.config(CONFIG)
  start = runner.Input(model)
  texts, corpus = _texts(recipe, config, model, squad_open, trained_on)
  train, dev, test = (
    [texts / f'{name}{kind}.jsonl' for kind in squad_taken_out.KINDS]
    for name in _SIZES
  )
  jobs = common.Jobs(
    recipe,
    corpus,
    learning={'model_of': start, 'init_from': start},
    measuring={'questions': test, 'recall_at': '1,5,20', **_SEARCH},
    costs={'before': 700, 'after': 1000},
  )
  before = jobs.train('before', 'finetune', config, questions=train[:1])
  with_nulls = recipe.config(config_files.merge(CONFIG, _WITH_NULLS))
  after = jobs.train('after', 'finetune', with_nulls, questions=train)
  recipe.stage(
    'calibration',
    'calibrate',
    at=after / 'calibration.json',
    model_dir=after,
    corpus_dir=corpus,
    questions=dev,
    cost=150,
    **_SEARCH,
  )
  recipe.stage(
    'report.html',
    'report',
    run_dir=[before, after],
    eval_dir=[
      jobs.evaluate(trained.stage, model_dir=trained, cost=450)
      for trained in (before, after)
    ],
    output=runner.OUTPUT,
  )


def _texts(
  recipe: runner.Recipe, config: Any, model: str, folder: str, trained_on: str
) -> tuple[runner.Output, runner.Output]:
  """Adds the files of questions, and the corpus of the other paragraphs."""
  corpora, questions = (
    [
      runner.Input(f'{folder}/{part}_{kind}.jsonl.gz')
      for part in ('train', 'val')
    ]
    for kind in ('corpus', 'qa')
  )
  texts = recipe.stage(
    'split',
    squad_taken_out.divide,
    corpora=corpora,
    questions=questions,
    trained_on=runner.Input(trained_on),
    sizes=_SIZES,
    seed=config.seed,
    output_dir=runner.OUTPUT,
  )
  corpus = recipe.stage(
    'corpus',
    'make_blocks',
    input=texts / 'articles.jsonl',
    vocab_file=runner.Input(f'{model}/vocab.txt'),
    max_block_wordpieces=config.lengths.block_tokens,
    output_dir=runner.OUTPUT,
  )
  return texts, corpus


def summary(run_dir: str) -> str:
  """Returns a table of both models on the test, in percent."""
  folders = [f'{run_dir}/eval/{name}' for name in ('before', 'after')]
  found = []
  for folder in folders:
    with open(f'{folder}/metrics.json') as file:
      found.append(json.load(file))
  exact = [
    np.array([100.0 * row['exact_match'] for row in squad_taken_out.rows(path)])
    for path in (f'{folder}/test/predictions.jsonl' for folder in folders)
  ]
  lost = [
    squad_taken_out.share_given(
      f'{run_dir}/split/test_taken_out.jsonl',
      f'{folder}/test_taken_out/predictions.jsonl',
    )
    for folder in folders
  ]
  change = exact[1] - exact[0]
  wide = 1.96 * change.std() / len(change) ** 0.5
  impossible = found[0]['num_impossible']
  lines = [
    f'{len(change):,} answerable questions, and {impossible:,} whose paragraph '
    'is taken out, in percent:',
    f'{"":<40}{"before":>9}{"after":>9}',
    _line('exact match of answerable', *map(np.mean, exact)),
    _line('lost answer given, which counts as wrong', *lost),
    *(_line(name, *(f[key] for f in found)) for key, name in _FIELDS.items()),
    f'Exact match changes by {change.mean():+.1f} '
    f'({change.mean() - wide:+.1f} to {change.mean() + wide:+.1f}).',
  ]
  return '\n'.join(lines)


def _line(name: str, *cells: float) -> str:
  return f'{name:<40}' + ''.join(f'{cell:9.1f}' for cell in cells)


def main():
  runner.main(__doc__, stages, summary)


if __name__ == '__main__':
  main()
