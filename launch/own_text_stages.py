"""The stages of `own_text`, by data flow, and the choice of its search."""

import json
import pathlib
from typing import Any, NamedTuple

from . import common
from . import own_text_plan
from . import runner

from realm_tf.config import config_files

TAGGER = 'rules+terms'  # Text without names, or in lower case, has terms.
WEIGHT = 0.7  # Of BM25's scores.
# The reader learns from the right block of each question, and from the best
# other one, which has no answer.
EACH_BLOCK = {'objective': 'per_block', 'num_read': 2, 'batch_size': 8}
_LEVEL = 0.05  # A lead with a larger p may be chance.
# Model -> its embeddings, in words.
_LABELS = {
  'encoder': "the encoder's embeddings",
  'text': 'embeddings learned from the text',
  'qa': 'embeddings learned from questions',
}


# The reader's head, in place of the encoder's.
_HEAD = 'model.span_head=linear_null', 'model.max_span_width=16'


def sizes_of(start: str) -> dict[str, Any]:
  """Returns the flags of a training that starts from the encoder, if any."""
  if not start:
    return {}
  return {'model_of': start, 'set': [*common.NO_DROPOUT, *_HEAD]}


class Work(common.Jobs):
  """Lists the stages of a plan.

  Args:
    start: Model directory of the encoder, or ''.
    reader: Model directory of a given reader, or ''.
    articles: File of the articles, which the survey has read.
  """

  def __init__(
    self,
    recipe: runner.Recipe,
    plan: own_text_plan.Plan,
    *,
    start: str,
    reader: str,
    articles: runner.Output,
  ):
    self.config, self.start, self.steps = plan.config, start, plan.steps
    self.reading: dict[str, Any] = {'input': articles, 'format': 'jsonl'}
    corpus = recipe.stage(
      'corpus',
      'make_blocks',
      **self.reading,
      # Both are there, since the survey has run.
      vocab_file=runner.Input(
        f'{start or reader}/vocab.txt' if start or reader else ''
      ),
      max_block_wordpieces=plan.config.lengths.block_tokens,
      output_dir=runner.OUTPUT,
    )
    super().__init__(
      recipe,
      corpus,
      learning=sizes_of(start),
      measuring={'recall_at': '1,5,20'},
      costs=plan.seconds,
    )
    self.sentences = self.pretrained = ''
    self.reader = self.given = reader
    # Model -> flags that name it, the least trained first.
    self.models: dict[str, dict[str, Any]] = {}

  def learn_text(self) -> None:
    """Lists readers and, from random weights, embedders."""
    model = self.start
    if self.reader and not model:  # BM25 and the reader.
      return
    if 'embedders' in self.steps:
      model = self.train('embedders', 'warm_start', self.config)
    if 'span_reader' in self.steps:
      reader = self._learn_to_read(model)
      if 'realm' in self.steps:
        model = self._pretrain(model, reader)
    name = 'encoder' if self.start else 'text'
    self.models[name] = {
      'model_dir': model,
      'reader_dir': self.reader,
      'index_dir': self.index(
        f'index_{name}',
        model,
        at=f'index_{name}',
        alone=True,
        cost=self.costs['index'],
        # The reader takes longest, with all cores too.
        needs=[self.reader] if 'span_reader' in self.steps else [],
      ),
    }

  def _learn_to_read(self, first: str) -> str:
    """Lists the readers of sentences; returns the one that fills in words."""
    self.sentences = self.queries('queries', **self.reading, tagger=TAGGER)
    reader = ''
    if 'reader' in self.steps:
      warm_up = common.reader_warm_up(
        self.config,
        learning_rate=1.5e-4 if self.start else 3e-3,
        num_steps=self.steps['reader'],
        batch_size=32,
      )
      reader = self.pretrained = self.train(
        'reader',
        'pretrain',
        warm_up,
        init_from=first,
        queries_dir=self.sentences,
      )
      if 'realm' not in self.steps:
        self.index('reader_index', reader)
    optimizer: dict[str, Any] = {'num_steps': self.steps['span_reader']}
    if self.start:
      optimizer['learning_rate'] = own_text_plan.rate(
        self.config, optimizer['num_steps']
      )
    spans = {**EACH_BLOCK, 'optimizer': optimizer}
    # A sentence encoder learns to read better than one that fills in words.
    self.reader = self.train(
      'span_reader',
      'finetune',
      config_files.merge(self.config, {'finetuning': spans}),
      retriever='bm25',
      init_from=self.start or reader,
      queries_dir=self.sentences,
      alone=True,
    )
    return reader

  def _pretrain(self, embedders: str, reader: str) -> runner.Output:
    """Lists REALM; returns the average of its weights with `embedders`.

    It is REALM's best version, or the last without a measure.
    """
    held_out = self.config.held_out
    measures = held_out.share > 0 and held_out.num_queries > 0
    refresh = {'run_dir': runner.OUTPUT, 'corpus_dir': self.corpus}
    self.pretrained = realm = self.train(
      'realm',
      'pretrain',
      self.config,
      init_from=embedders,
      reader_init_from=reader,
      keep_best='held_out_recall@5' if measures else None,
      companion=('refresh_index', refresh),
      queries_dir=self.sentences,
    )
    return self.recipe.stage(
      'model',
      'average_models',
      model_dir=realm / 'best' if measures else realm,
      before_dir=embedders,
      weight=0.7,
      output_dir=runner.OUTPUT,
    )

  def learn_questions(self, questions: str) -> None:
    """Trains both towers, then the reader with one block and with two."""
    config, steps = self.config, self.steps
    (before,) = self.models.values()
    towers = {
      'optimizer': {
        'learning_rate': 4e-5 if self.start else 5e-4,
        'num_steps': steps['towers'],
      },
      'batch_size': min(32, config.inverse_cloze.batch_size),
      'questions_of_title': 16,
    }
    model = self.train(
      'towers',
      'warm_start',
      config_files.merge(config, {'inverse_cloze': towers}),
      init_from=before['model_dir'],
      questions=questions,
    )
    one = {**EACH_BLOCK, 'optimizer': {'num_steps': steps['gold']}}
    gold = self.train(
      'gold',
      'finetune',
      config_files.merge(config, {'finetuning': one}),
      init_from=model,
      reader_init_from=self.reader or self.start,
      questions=questions,
    )
    two = {
      'optimizer': {
        'learning_rate': config.finetuning.optimizer.learning_rate / 2,
        'num_steps': steps['qa'],
      },
      'num_read': min(2, config.finetuning.num_searched),
    }
    # Another seed gives another order of the questions.
    changes = {'seed': config.seed + 1, 'finetuning': two}
    both = config_files.merge(config, changes)
    qa = self.train('qa', 'finetune', both, init_from=gold, questions=questions)
    self.models['qa'] = {'model_dir': qa}

  def open_page(self, held_out: str, test: str) -> None:
    """Measures all models and BM25, and names the best parts for the page.

    Args:
      held_out: Questions that decide, or ''; `test` only do without any.
    """
    recipe = self.recipe
    path = recipe.stage(
      'choice.json',
      choose,
      models=list(self.models),
      evaluations=self._measure('eval', held_out or test),
      tests=self._measure('test', test) if held_out and test else [],
      output=runner.OUTPUT,
    )
    recipe.finish()
    choice = json.loads(pathlib.Path(path).read_text(encoding='utf-8'))
    parts = dict(self.models.get(choice['model'], {'model_dir': self.reader}))
    qa = self.models['qa']['model_dir'] if choice['reads_qa'] else ''
    reader = qa or self.reader
    parts['reader_dir'] = reader if reader != parts['model_dir'] else ''
    recipe.stage(
      'realm.json',
      runner.write_parts,
      **parts,
      corpus_dir=self.corpus,
      pretrained_dir=self.pretrained,
      sparse_weight=choice['sparse_weight'],
      retriever=choice['retriever'],
      num_read=5,
      best_effort=not (qa or self.given),
      output=runner.OUTPUT,
    )

  def _measure(self, folder: str, questions: str) -> list[runner.Output]:
    """Returns evaluations of BM25, and of each model without and with BM25.

    There are none without questions and held-out sentences.
    """
    measured: dict[str, Any] = {'questions': questions}
    share = self.config.held_out.share
    if share:
      measured |= {
        'queries_dir': self.sentences,
        'held_out_share': share,
        'config': self.config,
      }
    elif not questions:
      return []
    searches: dict[str, Any] = {'bm25': {'retriever': 'bm25'}}
    if not self.models:
      searches['bm25']['model_dir'] = self.reader
    for name, model in self.models.items():
      searches[name] = {
        **model,
        'sparse_weight': [0, WEIGHT],
        'cost': self.costs['evaluation'],
        'alone': bool(self.start),  # Small models share the cores better.
      }
    return [
      self.evaluate(
        f'{folder}_{name}', at=f'{folder}/{name}', **measured, **search
      )
      for name, search in searches.items()
    ]


class _Search(NamedTuple):
  """BM25, or a model without or with BM25, as measured on the same texts.

  `hits` tells whether each text has a right block among the first 5.
  """

  model: str
  sparse_weight: float
  metrics: dict[str, Any]
  hits: list[bool]


def choose(
  models: list[str], evaluations: list[str], tests: list[str], output: str
) -> None:
  """Writes the best search and reader, and why; an action of a stage.

  Args:
    models: Names of models, the least trained first.
    evaluations: Directories, named 'bm25' or as a model; `tests` are shown.
  """
  searches = _read(evaluations)
  # Without a measure the page searches with the encoder, if any.
  name, weight = ('encoder', WEIGHT) if 'encoder' in models else ('bm25', 0.0)
  why = 'nothing is held out to measure others'
  if searches:
    name, weight, *_ = _best(searches)
    why = 'no other is clearly better'
  exact = {each.model: each.metrics.get('exact_match', 0) for each in searches}
  reads_better = exact.get('qa', 0) >= exact.get(models[0] if models else '', 0)
  lines = [_line('Held out', searches), _line('--test_questions', _read(tests))]
  by = 'words alone' if name == 'bm25' else _LABELS[name]
  lines += [f'The page searches by {by}{" and words" * (weight > 0)}: {why}.']
  choice = {
    'model': models[-1] if name == 'bm25' and models else name,
    'retriever': 'bm25' if name == 'bm25' else 'model',
    'sparse_weight': weight,
    'reads_qa': 'qa' in models and reads_better,
    'text': '\n'.join(filter(None, lines)),
  }
  pathlib.Path(output).write_text(json.dumps(choice), encoding='utf-8')


def _read(folders: list[str]) -> list[_Search]:
  """Returns the searches in the directories, without BM25's scores first."""
  found = []
  for folder in map(pathlib.Path, folders):
    for path in sorted(folder.glob('**/metrics.json')):
      metrics = json.loads(path.read_text(encoding='utf-8'))
      if not {'recall@5', 'span_recall@5'} & metrics.keys():
        continue  # No text has an answer.
      rank = 'answer_rank' if 'num_questions' in metrics else 'span_rank'
      rows = [
        json.loads(line)
        for file in path.parent.glob('*s.jsonl')
        for line in file.read_text(encoding='utf-8').splitlines()
      ]
      hits = [0 < (row[rank] or 9) <= 5 for row in rows if rank in row]
      weight = float(path.parent.name.partition('sparse_')[2] or 0)
      found.append(_Search(folder.name, weight, metrics, hits))
  return found


def _best(searches: list[_Search]) -> _Search:
  """Returns the encoder with words, if any, unless another is clearly better.

  So a model that training made worse, or better by chance, is never handed
  over; nor are words alone, which masked sentences favour: people ask in other
  words. Of equal searches of a group the first one is the best.
  """
  from scipy import stats  # Takes a second.

  groups = [
    [each for each in searches if (each.model, each.sparse_weight) in group]
    for group in (
      [('encoder', WEIGHT)],
      [('bm25', 0), ('encoder', 0)],
      [('text', 0), ('text', WEIGHT)],
      [('qa', 0), ('qa', WEIGHT)],
    )
  ]
  best, *rivals = (
    max(group, key=lambda each: sum(each.hits)) for group in groups if group
  )
  for rival in rivals:
    pairs = list(zip(rival.hits, best.hits, strict=True))
    gained, lost = pairs.count((True, False)), pairs.count((False, True))
    # McNemar's exact test.
    if gained > lost and stats.binomtest(gained, gained + lost).pvalue < _LEVEL:
      best = rival
  return best


def _line(title: str, searches: list[_Search]) -> str:
  """Returns the figures of searches on the same texts."""
  if not searches:
    return ''
  of_questions = 'num_questions' in searches[0].metrics
  number, kind, texts = (
    ('num_questions', '', 'questions with an answer')
    if of_questions
    else ('num_sentences', 'span_', 'masked sentences with the masked words')
  )
  cells = []
  for model, weight, metrics, _ in searches:
    label = 'and words' if weight else _LABELS.get(model, 'words')
    low, high = metrics[f'{kind}intervals'][f'{kind}recall@5']
    recall = metrics[f'{kind}recall@5']
    cell = f'{label} {recall:.1f} ({low:.1f} to {high:.1f})'
    if 'exact_match' in metrics:
      cell += f', exact answers {metrics["exact_match"]:.1f}'
      refused = metrics.get('refused_answerable', 0.0)
      cell += f', refused {refused:.1f}' * (refused > 0)
    cells.append(cell)
  return (
    f'{title}: {searches[0].metrics[number]:,} {texts} in the first 5 blocks, '
    f'in percent (95 % interval): {"; ".join(cells)}.'
  )
