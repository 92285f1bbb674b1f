r"""Refusing on SQuAD, half of whose paragraphs are taken out of the corpus.

  python -m launch.squad_refusing MODEL SQUAD_OPEN RUN_DIR [--trained_on=FILE]

MODEL is a model directory with a reader that val's questions did not train,
such as RUN_DIR/gold of launch.own_text. The articles of the questions that did,
--trained_on, are left out. SQUAD_OPEN is as for launch/tables.py.

The reader goes on in two ways: `before`, on answerable questions, with raw
probabilities; and `after`, on the same ones and half as many without an answer,
with null spans, and calibrated on dev. report.html has the figures. A MiniLM
takes about 50 minutes of a core: 30 for 10,000 questions with two blocks, 20
for 10,200 answers from five.
"""

from typing import Any

from . import common
from . import own_text
from . import runner
from . import squad_stages

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
_SPLITS = {  # Name -> --split of bin.take_out; input 1 is val.
  'train': f'0:40:{1 / 3}:4000:2000',
  'dev': '1:14:0.5:600:600',
  'test': '1:28:0.5:2250:2250',
}


def stages(
  recipe: runner.Recipe, model: str, squad_open: str, *, trained_on: str = ''
) -> None:
  """Adds the splits, both trainings, the calibration and both evaluations."""
  config = recipe.config(CONFIG)
  start = runner.Input(model)
  texts, corpus = _texts(recipe, config, model, squad_open, trained_on)
  train, dev, test = (
    [texts / f'{name}{kind}.jsonl' for kind in ('', '_taken_out')]
    for name in _SPLITS
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
  evaluations = [
    jobs.evaluate(trained.stage, model_dir=trained, cost=450)
    for trained in (before, after)
  ]
  table = common.results(
    recipe,
    'results.json',
    [[evaluation / 'test' for evaluation in evaluations]],
    questions=test[0],
  )
  recipe.stage(
    'report.html',
    'report',
    run_dir=[before, after],
    eval_dir=evaluations,
    results=table,
    output=runner.OUTPUT,
  )


def _texts(
  recipe: runner.Recipe, config: Any, model: str, folder: str, trained_on: str
) -> tuple[runner.Output, runner.Output]:
  """Adds the files of questions, and the corpus of the other paragraphs."""
  corpora, questions = squad_stages.texts(folder)
  texts = recipe.stage(
    'split',
    'take_out',
    input=corpora,
    questions=questions,
    split=[f'{name}:{sizes}' for name, sizes in _SPLITS.items()],
    trained_on=runner.Input(trained_on),
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


def main():
  runner.main(__doc__, stages, common.printed_tables)


if __name__ == '__main__':
  main()
