r"""The main job on the demonstration's text, from articles to answers.

  bash launch/quickstart.sh [RUN_DIR] [--compare] [--seed=1] [--set=a.b=c] \
      [--dry_run]

It trains and measures REALM. --compare adds ICT and BM25 with readers of their
own, training on fewer questions, a changed fact, and a report; after a run
without it only these run.

Time: on two slow cores the first table after 11 minutes, the page after 22; the
page took 40 next to other work (docs/results/quickstart.md). Exact match on
2,000 questions, seed 0: REALM 86.4 in the articles' words, 65.5 in forms never
seen, with BM25 87.2 and 82.8; BM25 with this reader 76.0 and 74.7.
"""

import functools
import itertools
from typing import Any

from . import common
from . import quickstart_summary
from . import quickstart_world
from . import runner

from realm_tf import config
from realm_tf.config import config_files

_BERT = config.BertConfig(
  hidden_size=128,
  num_layers=2,
  num_heads=2,
  intermediate_size=256,
  max_positions=128,
  initializer='mimetic',
  activation='relu',
  dropout_rate=0.0,
  attention_dropout_rate=0.0,
)

CONFIG = config.ExperimentConfig(
  model=config.ModelConfig(
    embedder_bert=_BERT,
    reader_bert=_BERT,
    embedder=config.EmbedderConfig(head='mean', shared_towers=True),
    span_hidden_size=64,
    max_span_width=6,
    seq2seq=config.Seq2SeqConfig(
      hidden_size=128, num_layers=2, num_heads=2, intermediate_size=256
    ),
  ),
  lengths=config.LengthConfig(
    query_tokens=24,
    block_tokens=32,
    joint_tokens=54,
    question_tokens=32,
    title_tokens=12,
    max_masked=5,
  ),
  index=config.IndexConfig(searcher='auto', exact_below_blocks=50_000),
  inverse_cloze=config.InverseClozeConfig(
    optimizer=config.OptimizerConfig(1e-3, 200, warmup_steps=20),
    batch_size=128,
    query_tokens=26,
    query_noise_rate=0.4,
  ),
  pretraining=config.PretrainingConfig(
    optimizer=config.OptimizerConfig(1e-3, 600, 30, embedder_rate_scale=0.5),
    batch_size=32,
    num_candidates=7,
    refresh_every_steps=50,
    checkpoint_every_steps=100,
    log_every_steps=25,
  ),
  finetuning=config.FinetuningConfig(
    optimizer=config.OptimizerConfig(2e-3, 800, 40, embedder_rate_scale=0.5),
    batch_size=32,
    num_searched=50,
    num_read=2,
    # An answer "9" stands in many blocks; only the article's own is correct.
    supervision='gold',
    joint_tokens=64,
    log_every_steps=50,
  ),
  path=config.PathConfig(
    optimizer=config.OptimizerConfig(1e-3, 1500, warmup_steps=50)
  ),
  # The rival without retrieval. It trains as long as the reader's warm-up.
  closed_book=config.ClosedBookConfig(
    optimizer=config.OptimizerConfig(3e-3, 2500, warmup_steps=100),
    batch_size=64,
    input_tokens=26,
    answer_tokens=8,
  ),
)

# Training questions -> steps.
_STEPS: dict[int | str, int] = {1000: 200, 'all': 2000}
_WEIGHTS: dict[str, Any] = {'sparse_weight': [0, quickstart_summary.WEIGHT]}
# Of training on questions; without it, forms never seen are answered worse.
_DROPOUT = {
  name: {'dropout_rate': 0.1, 'attention_dropout_rate': 0.1}
  for name in ('embedder_bert', 'reader_bert')
}
_SYSTEMS = {  # Name -> its evaluation after N questions.
  'REALM': 'realm_{}/sparse_0',
  'REALM with BM25': f'realm_{{}}/{quickstart_summary.HYBRID}',
  'ICT': 'ict_{}',
  'BM25': 'bm25_{}',
}


def stages(recipe: runner.Recipe, *, compare: bool = False) -> None:
  world = quickstart_world.World(recipe, recipe.config(CONFIG).lengths)
  texts = world.tagged('reader_queries', 'sentences', 'statements')
  ict = world.train('ict', 'warm_start', recipe.config(CONFIG), cost=95)
  # From random weights, at the same time as ICT: ICT's weights are no better
  # start. Its parameters are published once, as no index follows them.
  warm_up = common.reader_warm_up(
    config_files.merge(CONFIG, {'pretraining': {'refresh_every_steps': 2000}}),
    learning_rate=3e-3,
    num_steps=1500,
    batch_size=64,
  )
  reader = world.train(
    'reader', 'pretrain', recipe.config(warm_up), queries_dir=texts, cost=250
  )
  realm, model = _realm(world, ict, reader)
  _show_retrieval(world, ict, model, compare)
  # The reader's second half, still from text alone: a sentence with a blank for
  # a name is a question, and a block found by BM25 has the answer.
  finetuning = {'num_read': 1, 'optimizer': {'num_steps': 2000}}
  spans = world.train(
    'span_reader',
    'finetune',
    recipe.config(config_files.merge(CONFIG, {'finetuning': finetuning})),
    queries_dir=texts,
    retriever='bm25',
    init_from=reader,
    cost=450,
  )
  qa = _row(world, 'realm', 'all', model, realm, spans=spans, **_WEIGHTS)
  _page(world, realm, qa)
  if compare:
    for number in (0, *_STEPS):
      _row(world, 'realm', number, model, realm, spans=spans, **_WEIGHTS)
      _row(world, 'ict', number, ict, ict, spans=spans)
      _row(world, 'bm25', number, ict, ict, spans=spans, retriever='bm25')
    _report(world, realm, qa)
    world.change_fact(qa)


def _show_retrieval(
  world: quickstart_world.World,
  ict: runner.Output,
  model: runner.Output,
  compare: bool,
) -> None:
  """Measures search before any question was seen."""
  asked: Any = world.questions('test', *quickstart_summary.SEARCHED)
  searches: dict[str, dict[str, Any]] = {
    'bm25': {'retriever': 'bm25', 'cost': 5},
    'realm': {'model_dir': model, **_WEIGHTS},
  }
  if compare:
    world.index('ict_index', ict, cost=5)
    searches['ict'] = {'model_dir': ict, 'cost': 5}
  shown = [
    world.evaluate(f'retrieval_{name}', questions=asked, **search)
    for name, search in searches.items()
  ]
  world.recipe.show(
    'What retrieval brought',
    shown,
    functools.partial(quickstart_summary.first_table, compare=compare),
  )


def _page(
  world: quickstart_world.World, realm: runner.Output, qa: runner.Output
) -> None:
  """Names the parts of the page, and measures its model while it is up."""
  world.calibrate(qa)
  parts: dict[str, Any] = {'corpus_dir': world.corpus, 'pretrained_dir': realm}
  parts |= {'model_dir': qa, **quickstart_world.SERVED}
  page = world.recipe.stage(
    'realm.json', runner.write_parts, output=runner.OUTPUT, **parts
  )
  world.recipe.show(
    'The page is ready; its measures follow', [page], quickstart_summary.ask
  )
  world.evaluate(
    'bm25_realm_all',
    model_dir=qa,
    retriever='bm25',
    questions=world.questions('test', *quickstart_world.WORDINGS),
    **quickstart_world.READING,
  )
  for words in quickstart_world.WORDINGS:
    world.table('results', words, [quickstart_summary.SYSTEMS])


def _realm(
  world: quickstart_world.World, ict: runner.Output, reader: runner.Output
) -> tuple[runner.Output, runner.Output]:
  """Returns REALM, and its average with ICT.

  REALM learns the words of the sentences, and forgets some words of the
  articles that ICT taught. The average of both weights knows both, so it is the
  retriever until questions teach the articles' words again.
  """
  recipe = world.recipe
  refresher = {'run_dir': runner.OUTPUT, 'corpus_dir': world.corpus}
  realm = world.train(
    'realm',
    'pretrain',
    recipe.config(CONFIG),
    companion=('refresh_index', refresher),
    queries_dir=world.tagged('queries', 'sentences'),
    init_from=ict,
    reader_init_from=reader,
    cost=600,
  )
  model = recipe.stage(
    'model',
    'average_models',
    model_dir=realm,
    before_dir=ict,
    weight=0.7,
    output_dir=runner.OUTPUT,
  )
  world.index('model_index', model, cost=5)
  return realm, model


def _row(
  world: quickstart_world.World,
  name: str,
  number: int | str,
  before: runner.Output,
  trained: runner.Output,
  *,
  spans: runner.Output,
  retriever: str = 'model',
  **evaluation: Any,
) -> runner.Output:
  """Adds a retriever with a reader that learned from `number` questions.

  Args:
    before: Embedders without questions; questions train `trained`.
    spans: The reader that all rows start from.
  """
  evaluation |= {'retriever': retriever, **quickstart_world.READING}
  if not number:
    evaluation |= {'model_dir': before, 'reader_dir': spans}
    return world.evaluate(f'{name}_0', **evaluation)
  changes = {
    'model': _DROPOUT,
    'finetuning': {
      'optimizer': {'num_steps': _STEPS[number]},
      'null_spans': number == 'all',
    },
  }
  sentences = {}
  if number == 'all':
    # Without them long training forgets the words that only sentences have.
    sentences['queries_dir'] = world.tagged('queries', 'sentences')
    evaluation['questions'] = world.questions(
      'test', *quickstart_world.WORDINGS, *quickstart_world.IMPOSSIBLE
    )
  qa = world.train(
    f'qa_{name}_{number}',
    'finetune',
    world.recipe.config(config_files.merge(CONFIG, changes)),
    corpus_dir=world.practice,
    questions=_practice(world, number),
    retriever=retriever,
    init_from=trained,
    reader_init_from=spans,
    cost=_STEPS[number] / 2.8,
    **sentences,
  )
  world.index(f'qa_{name}_{number}_index', qa, cost=5)
  world.evaluate(f'{name}_{number}', model_dir=qa, cost=60, **evaluation)
  return qa


def _practice(
  world: quickstart_world.World, number: int | str
) -> list[runner.Output]:
  """Returns the first `number` questions; 'all' are also the impossible."""
  (asked,) = world.questions('practice', '')
  if number == 'all':
    return [asked, *world.questions('train', *quickstart_world.IMPOSSIBLE)]
  chosen = world.recipe.stage(
    f'{number}_questions',
    _first_lines,
    at=f'{number}_questions.jsonl',
    input=asked,
    number=number,
    output=runner.OUTPUT,
    cost=0,
  )
  return [chosen]


def _first_lines(input: str, number: int, output: str) -> None:
  with open(input) as lines, open(output, 'w') as chosen:
    chosen.writelines(itertools.islice(lines, number))


def _report(
  world: quickstart_world.World, realm: runner.Output, qa: runner.Output
) -> None:
  """Adds the table of all systems for each wording, and pictures of it."""
  best = world.best()
  rows = [
    {
      f'{system} after {number} questions': row.format(number)
      for system, row in _SYSTEMS.items()
    }
    for number in (0, *_STEPS)
  ]
  world.recipe.stage(
    'report',
    'report',
    at='report.html',
    run_dir=[realm, qa],
    eval_dir=[best, best / 'test_questions'],
    results=[
      world.table('comparison', words, rows)
      for words in quickstart_world.WORDINGS
    ],
    output=runner.OUTPUT,
  )


def summary(recipe: runner.Recipe) -> str:
  return quickstart_summary.summary(
    recipe.run_dir, compare='report' in recipe.stages
  )


def main():
  runner.main(__doc__, stages, summary, run_dir='runs/quickstart')


if __name__ == '__main__':
  main()
