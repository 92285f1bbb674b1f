"""Surveys of a small, a middle and a large text, and their recipes."""

import json
import pathlib

from launch import own_text
from launch import runner

# 20 articles of 27 words: 20 * 27 = 540 words.
SMALL = {
  'num_articles': 20,
  'num_words': 540,
  'num_pieces': 700,
  'title_pieces': 5,
  'long_article': 27,
  'num_sentences': 60,
  'left_out': '',
  'num_recurring': 40,
  'held_out_share': 0.13,
  'num_train_questions': 0,
  'num_held_out_questions': 0,
  'train_secs': 1e-4,
}
# SQuAD's validation paragraphs.
MIDDLE = SMALL | {
  'num_articles': 2067,
  'num_words': 255_000,
  'num_pieces': 344_000,
  'long_article': 200,
  'num_sentences': 9000,
  'num_recurring': 8000,
  'held_out_share': 0.1,
}
LARGE = MIDDLE | {
  'num_articles': 100_000,
  'num_words': 50_000_000,
  'num_pieces': 68_000_000,
  'long_article': 1200,
  'num_sentences': 2_000_000,
  'num_recurring': 1_500_000,
}
QUESTIONS = {'num_train_questions': 900, 'num_held_out_questions': 100}

_CHOICE = {
  'model': 'text',
  'retriever': 'model',
  'sparse_weight': 1.0,
  'reads_qa': False,
  'text': 'The figures.',
}


def recipe(folder, survey, choice=(), *, has_encoder=False, **flags):
  """Lists all stages of own_text; the survey and the choice are there.

  `folder` becomes the run's directory. Its folder `encoder` is a model
  directory, as far as a recipe looks into it.
  """
  folder = pathlib.Path(folder)
  for name in ('survey', 'encoder/params'):
    (folder / name).mkdir(parents=True)
  (folder / 'survey/survey.json').write_text(json.dumps(survey))
  if has_encoder:
    flags['encoder'] = str(folder / 'encoder')
    choice = {'model': 'encoder', **dict(choice)}
  (folder / 'choice.json').write_text(json.dumps(_CHOICE | dict(choice)))
  listed = runner.Recipe(str(folder))
  own_text.stages(listed, '/articles.jsonl', **flags)
  return listed
