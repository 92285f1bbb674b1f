"""The stages of `own_text`, by data flow."""

import os
from typing import Any, NamedTuple, Optional

from . import own_text_plan
from . import own_text_summary
from . import runner
from . import variants

from realm_tf import config as config_lib
from realm_tf.config import config_files


class Rates(NamedTuple):
  """Settings of variants of a config.

  Attributes:
    warm_up: Learning rate of the reader's warm-up.
    towers: Learning rate of both towers on questions.
    average: Weight of REALM's embedders in their average with the start's.
  """

  warm_up: float
  towers: float
  average: float


_BOTH = {'sparse_weight': [0, 1]}  # Without and with BM25.


class Work:
  """Lists the stages of a plan.

  Args:
    config: Config of the text; variants change it.
    start: Model directory of the encoder, or ''.
    sizes: Flags of training that give the encoder's sizes.
    reading: Flags of binaries that read articles.
  """

  def __init__(
    self,
    recipe: runner.Recipe,
    plan: own_text_plan.Plan,
    config: config_lib.ExperimentConfig,
    *,
    start: str,
    rates: Rates,
    sizes: dict[str, Any],
    reading: dict[str, Any],
  ):
    self._recipe, self._plan, self._start = recipe, plan, start
    self._sizes, self._reading = sizes, reading
    self._config, self._rates = config, rates
    self._corpus = self._make_blocks('corpus', _inside(start, 'vocab.txt'))
    self._practice = self._corpus
    if plan.practice_articles:
      vocab_file = self._corpus / 'vocab.txt'
      self._practice = self._make_blocks(
        'practice', vocab_file, max_articles=plan.practice_articles
      )
    self._measured = self._practice
    self._queries = self._reader = self._realm = ''
    # Row of the results -> flags of its model.
    self._rows: dict[str, dict[str, Any]] = {}

  def run_all(self, questions: str, held_out: str, test: str) -> None:
    """Learns from the text and the questions, measures, and opens the page.

    Args:
      held_out: Questions that measure, or ''; `test` are others.
    """
    if held_out or test:
      self._measured = self._corpus
    self.learn_text()
    if 'towers' in self._plan.steps:
      self.learn_questions(questions)
    self.measure('eval', held_out or test)
    if held_out and test:
      self.measure('test', test)
    self._recipe.finish()
    self.open_page()

  def learn_text(self) -> None:
    """Trains embedders and, if the text has enough names, two readers."""
    start = self._start
    embedders = self._train('embedders', 'warm_start', init_from=start)
    after = embedders
    if 'realm' in self._plan.steps:
      after = self._pretrain(embedders)
    if start:
      self._rows['before'] = {'model_dir': start}
    if after is embedders and start:
      after = self._average(embedders, start)
    self._rows['after'] = {'model_dir': after, 'reader_dir': self._reader}
    self._rows = {
      name: flags | {'index_dir': self._index(f'index_{name}', flags)}
      for name, flags in self._rows.items()
    }

  def _pretrain(self, embedders: runner.Output) -> runner.Output:
    """Lists REALM and its reader; returns the averaged model."""
    recipe, steps = self._recipe, self._plan.steps
    self._queries = recipe.stage(
      'queries',
      'make_queries',
      **self._reading,
      tagger='rules',
      max_articles=self._plan.practice_articles or None,
      corpus_dir=self._practice,
      output_dir=runner.OUTPUT,
    )
    first = self._start or embedders
    warm_up = variants.reader_warm_up(
      self._config,
      learning_rate=self._rates.warm_up,
      num_steps=steps['reader'],
      batch_size=32,
    )
    learning: dict[str, Any] = {'queries_dir': self._queries}
    reader = self._train(
      'reader', 'pretrain', warm_up, init_from=first, **learning
    )
    # A sentence encoder learns to read better than one that fills in words.
    spans = {'optimizer': {'num_steps': steps['span_reader']}}
    self._reader = self._train(
      'span_reader',
      'finetune',
      config_files.merge(self._config, {'finetuning': spans}),
      retriever='bm25',
      init_from=self._start or reader,
      **learning,
    )
    refresh = {'run_dir': runner.OUTPUT, 'corpus_dir': self._practice}
    realm = self._realm = self._train(
      'realm',
      'pretrain',
      init_from=embedders,
      reader_init_from=reader,
      keep_best='held_out_recall@5' if self._plan.held_out_share else None,
      companion=('refresh_index', refresh),
      **learning,
    )
    best = realm / 'best' if self._plan.held_out_share else realm
    return self._average(best, first)

  def _average(self, after: str, before: str) -> runner.Output:
    return self._recipe.stage(
      'model',
      'average_models',
      model_dir=after,
      before_dir=before,
      weight=self._rates.average,
      output_dir=runner.OUTPUT,
    )

  def learn_questions(self, questions: str) -> None:
    """Trains both towers, then the reader with one block and with two."""
    steps, rate = self._plan.steps, self._rates.towers
    towers = {
      'optimizer': {'learning_rate': rate, 'num_steps': steps['towers']},
      'batch_size': min(32, self._config.inverse_cloze.batch_size),
      'questions_of_title': 16,
    }
    learning: dict[str, Any] = {
      'corpus_dir': self._corpus,
      'questions': questions,
    }
    init_from = self._train(
      'towers',
      'warm_start',
      config_files.merge(self._config, {'inverse_cloze': towers}),
      init_from=self._rows['after']['model_dir'],
      **learning,
    )
    reader = self._reader or self._start
    # Another seed gives another order of the questions.
    for name, rate, num_read, seed in (('gold', 1, 1, 0), ('qa', 0.5, 2, 1)):
      rate *= self._config.finetuning.optimizer.learning_rate
      reading = {
        'optimizer': {'learning_rate': rate, 'num_steps': steps[name]},
        'num_read': min(num_read, self._config.finetuning.num_searched),
      }
      changes = {'finetuning': reading, 'seed': self._config.seed + seed}
      init_from = self._train(
        name,
        'finetune',
        config_files.merge(self._config, changes),
        init_from=init_from,
        reader_init_from=reader,
        **learning,
      )
      reader = ''  # The second part goes on with the first one's.
    self._rows['qa'] = {'model_dir': init_from}

  def measure(self, folder: str, questions: str) -> None:
    """Measures BM25, and each model alone and with BM25.

    Questions decide if there are any, else the sentences of held-out articles.
    """
    flags: dict[str, Any] = {'questions': questions, 'recall_at': '1,5,20'}
    if self._plan.held_out_share and self._measured is self._practice:
      flags['queries_dir'] = self._queries
      flags['held_out_share'] = self._plan.held_out_share
    elif not questions:
      return
    rows = {name: {**row, **_BOTH} for name, row in self._rows.items()}
    rows['bm25'] = {'retriever': 'bm25'}
    for name, row in rows.items():
      self._recipe.stage(
        f'{folder}_{name}',
        'evaluate',
        at=f'{folder}/{name}',
        corpus_dir=self._measured,
        output_dir=runner.OUTPUT,
        **flags,
        **row,
      )

  def open_page(self) -> None:
    """Writes realm.json: the best row, the best reader, and their corpus."""
    run_dir = self._recipe.run_dir
    measures = own_text_summary.read(run_dir)
    choice = own_text_summary.choose(measures, list(self._rows))
    row = self._rows[choice.row]
    if self._measured is not self._corpus:
      row |= {'index_dir': self._index('page_index', row, self._corpus)}
    reader = self._rows['qa']['model_dir'] if choice.reads_qa else self._reader
    page = {
      'row': choice.row,
      'model_dir': row['model_dir'],
      'corpus_dir': self._corpus,
      'index_dir': row.get('index_dir'),
      'reader_dir': reader if reader != row['model_dir'] else None,
      'pretrained_dir': self._realm,
      'sparse_weight': choice.sparse_weight,
      'retriever': choice.retriever,
      'best_effort': 'qa' not in self._rows,
    }
    own_text_summary.write_page(run_dir, page)

  def _make_blocks(
    self, name: str, vocab_file: str, **limits: Any
  ) -> runner.Output:
    return self._recipe.stage(
      name,
      'make_blocks',
      **self._reading,
      **limits,
      vocab_file=vocab_file,
      max_block_wordpieces=self._plan.block_tokens,
      output_dir=runner.OUTPUT,
    )

  def _train(
    self,
    name: str,
    binary: str,
    config: Optional[config_lib.ExperimentConfig] = None,
    **flags: Any,
  ) -> runner.Output:
    return self._recipe.stage(
      name,
      binary,
      config or self._config,
      **{'corpus_dir': self._practice, **self._sizes, **flags},
      run_dir=runner.OUTPUT,
    )

  def _index(
    self, name: str, row: dict[str, Any], corpus: str = ''
  ) -> runner.Output:
    return self._recipe.stage(
      name,
      'build_index',
      model_dir=row['model_dir'],
      corpus_dir=corpus or self._measured,
      output_dir=runner.OUTPUT,
    )


def _inside(directory: str, name: str) -> str:
  """Returns a file of a stage's output or of a user's folder."""
  if isinstance(directory, runner.Output):
    return directory / name
  return directory and runner.Input(os.path.join(directory, name))
