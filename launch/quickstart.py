r"""The main job on the demonstration's text, from articles to answers.

  bash launch/quickstart.sh [RUN_DIR] [--compare] [--seed=1] [--set=a.b=c] \
      [--dry_run]

It trains and measures REALM. --compare adds ICT and BM25 with readers of their
own, training on fewer questions, a changed fact, and a report; after a run
without it only these run.

TIME
"""

from collections.abc import Mapping, Sequence
import functools
import itertools
import os
from typing import Any

from . import common
from . import quickstart_summary
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
_READING: dict[str, Any] = {'num_read': 5, 'answer_by': 'text'}
_WEIGHTS: dict[str, Any] = {'sparse_weight': [0, quickstart_summary.WEIGHT]}
# Of the page.
_SERVED = {'sparse_weight': quickstart_summary.WEIGHT, **_READING}
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
# Kinds of questions: beginnings of their files' names. The first ask for the
# same facts in three wordings; the others have no answer in the corpus.
_WORDINGS = tuple(quickstart_summary.WORDS)
_IMPOSSIBLE = 'missing_', 'foreign_'


class _World(common.Jobs):
  """Stages on the demonstration: its texts, and jobs that read them."""

  corpus: runner.Output

  def __init__(self, recipe: runner.Recipe):
    self.folder = folder = recipe.stage(
      'world', 'unpack_demo', output_dir=runner.OUTPUT
    )
    lengths = recipe.config(CONFIG).lengths
    self.blocks: dict[str, Any] = {
      'max_block_wordpieces': lengths.block_tokens,
      'output_dir': runner.OUTPUT,
    }
    corpus = recipe.stage(
      'corpus',
      'make_blocks',
      input=folder / 'articles.jsonl',
      # Words of a question that are no wordpieces fill its few tokens.
      vocab_text=[folder / 'sentences.jsonl', folder / 'train_texts.jsonl'],
      links='titles',
      **self.blocks,
    )
    # With invented countries, which questions train.
    self.practice = recipe.stage(
      'practice',
      'make_blocks',
      append=corpus,
      input=folder / 'practice_articles.jsonl',
      **self.blocks,
    )
    measuring = {'questions': self.questions('test', *_WORDINGS)}
    super().__init__(recipe, corpus, learning={}, measuring=measuring)

  def tagged(self, name: str, *texts: str) -> runner.Output:
    """Adds the queries of files of the world, which name their spans."""
    paths = [self.folder / f'{text}.jsonl' for text in texts]
    return self.queries(name, input=paths, format='tagged', cost=5)

  def questions(self, split: str, *kinds: str) -> list[runner.Output]:
    """Returns the files of questions of a split."""
    return [self.folder / f'{kind}{split}_questions.jsonl' for kind in kinds]

  def calibrate(self, model: runner.Output) -> None:
    """Fits the probabilities of a model's answers; writes examples.json."""
    self.recipe.stage(
      'calibration',
      'calibrate',
      at=model / 'calibration.json',
      model_dir=model,
      corpus_dir=self.corpus,
      questions=self.questions('dev', *_WORDINGS, *_IMPOSSIBLE),
      examples=os.path.join(self.recipe.run_dir, 'examples.json'),
      **_SERVED,
    )


def stages(recipe: runner.Recipe, *, compare: bool = False) -> None:
  world = _World(recipe)
  texts = world.tagged('reader_queries', 'sentences', 'statements')
  ict = world.train('ict', 'warm_start', recipe.config(CONFIG), cost=45)
  # From random weights, at the same time as ICT: ICT's weights are no better
  # start. Its parameters are published once, as no index follows them.
  warm_up = common.reader_warm_up(
    config_files.merge(CONFIG, {'pretraining': {'refresh_every_steps': 2000}}),
    learning_rate=3e-3,
    num_steps=1500,
    batch_size=64,
  )
  reader = world.train(
    'reader', 'pretrain', recipe.config(warm_up), queries_dir=texts, cost=150
  )
  realm, model = _realm(world, ict, reader)
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
  recipe.show(
    'What retrieval brought',
    shown,
    functools.partial(quickstart_summary.first_table, compare=compare),
  )
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
    cost=140,
  )
  qa = _row(world, 'realm', 'all', model, realm, spans=spans, **_WEIGHTS)
  world.calibrate(qa)
  world.evaluate(
    'bm25_realm_all',
    model_dir=qa,
    retriever='bm25',
    questions=world.questions('test', *_WORDINGS),
    **_READING,
  )
  for words in _WORDINGS:
    _table(world, 'results', words, [quickstart_summary.SYSTEMS])
  parts: dict[str, Any] = {'corpus_dir': world.corpus, 'pretrained_dir': realm}
  parts |= {'model_dir': qa, **_SERVED}
  recipe.stage('realm.json', runner.write_parts, output=runner.OUTPUT, **parts)
  if compare:
    for number in (0, *_STEPS):
      _row(world, 'realm', number, model, realm, spans=spans, **_WEIGHTS)
      _row(world, 'ict', number, ict, ict, spans=spans)
      _row(world, 'bm25', number, ict, ict, spans=spans, retriever='bm25')
    _report(world, realm, qa)
    _changed_fact(world, qa)


def _realm(
  world: _World, ict: runner.Output, reader: runner.Output
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
    cost=250,
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
  world: _World,
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
  evaluation |= {'retriever': retriever, **_READING}
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
    evaluation['questions'] = world.questions('test', *_WORDINGS, *_IMPOSSIBLE)
  qa = world.train(
    f'qa_{name}_{number}',
    'finetune',
    world.recipe.config(config_files.merge(CONFIG, changes)),
    corpus_dir=world.practice,
    questions=_practice(world, number),
    retriever=retriever,
    init_from=trained,
    reader_init_from=spans,
    cost=_STEPS[number] / 7,
    **sentences,
  )
  world.index(f'qa_{name}_{number}_index', qa, cost=5)
  world.evaluate(f'{name}_{number}', model_dir=qa, **evaluation)
  return qa


def _practice(world: _World, number: int | str) -> list[runner.Output]:
  """Returns the first `number` questions; 'all' are also the impossible."""
  (asked,) = world.questions('practice', '')
  if number == 'all':
    return [asked, *world.questions('train', *_IMPOSSIBLE)]
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


def _report(world: _World, realm: runner.Output, qa: runner.Output) -> None:
  """Adds the table of all systems for each wording, and pictures of it."""
  best = (
    world.recipe.stages['evaluate_realm_all'].output / quickstart_summary.HYBRID
  )
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
    results=[_table(world, 'comparison', words, rows) for words in _WORDINGS],
    output=runner.OUTPUT,
  )


def _changed_fact(world: _World, qa: runner.Output) -> None:
  """Adds an article with another answer, which the same model reads."""
  recipe = world.recipe
  best = recipe.stages['evaluate_realm_all'].output / quickstart_summary.HYBRID
  right = best / 'test_questions/predictions.jsonl'
  changed = recipe.stage(
    'changed', 'unpack_demo', predictions=right, output_dir=runner.OUTPUT
  )
  corpus = recipe.stage(
    'changed_corpus',
    'make_blocks',
    at=changed / 'corpus',
    input=changed / 'articles.jsonl',
    vocab_file=world.corpus / 'vocab.txt',
    **world.blocks,
  )
  # Only the corpus is indexed again.
  index = world.index(
    'changed_index', qa, at=changed / 'index', corpus_dir=corpus
  )
  recipe.stage(
    'changed_answer',
    'evaluate',
    at=changed / 'answer',
    model_dir=qa,
    corpus_dir=corpus,
    index_dir=index,
    questions=changed / 'question.jsonl',
    output_dir=runner.OUTPUT,
    **_SERVED,
  )


def _table(
  world: _World, name: str, words: str, rows: Sequence[Mapping[str, str]]
) -> runner.Output:
  """Returns a table's file.

  Args:
    words: Wording of the test.
    rows: System -> its evaluation; McNemar's test is within a row.
  """
  stages = world.recipe.stages
  test = f'{words}test_questions'
  return world.recipe.stage(
    f'{words}{name}',
    'results_table',
    at=f'{words}{name}.json',
    run_dir=world.recipe.run_dir,
    title=quickstart_summary.WORDS[words].capitalize(),
    rows=[
      ','.join(f'{system}={path}/{test}' for system, path in row.items())
      for row in rows
    ],
    questions=world.folder / f'{test}.jsonl',
    output=runner.OUTPUT,
    needs=[
      stages[f'evaluate_{path.partition("/")[0]}'].output
      for row in rows
      for path in row.values()
    ],
  )


def summary(recipe: runner.Recipe) -> str:
  return quickstart_summary.summary(
    recipe.run_dir, compare='report' in recipe.stages
  )


def main():
  runner.main(__doc__, stages, summary, run_dir='runs/quickstart')


if __name__ == '__main__':
  main()
