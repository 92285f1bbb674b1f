"""The stages of `own_text`, by data flow."""

import json
from typing import Any

from . import common
from . import own_text_choice
from . import own_text_plan
from . import runner
from . import variants

from realm_tf.config import config_files

TAGGER = 'rules+terms'  # Text without names, or in lower case, has terms.


def sizes_of(start: str) -> dict[str, Any]:
  """Returns the flags of a training that starts from the encoder, if any."""
  return {'model_of': start, 'set': variants.NO_DROPOUT} if start else {}


class Work(common.Jobs):
  """Lists the stages of a plan.

  Args:
    start: Model directory of the encoder, or ''.
    reading: Flags of binaries that read articles.
    has_questions: Whether questions measure, on the whole text.
  """

  def __init__(
    self,
    recipe: runner.Recipe,
    plan: own_text_plan.Plan,
    *,
    start: str,
    reading: dict[str, Any],
    has_questions: bool,
  ):
    self.recipe, self.config, self.start = recipe, plan.config, start
    self.steps = plan.steps
    # The encoder is there, since the survey has measured it.
    vocab_file: str = runner.Input(start and f'{start}/vocab.txt')
    self.whole = practice = self._blocks('corpus', reading, vocab_file)
    self.reading = {**reading, 'max_articles': plan.practice_articles}
    if plan.practice_articles:
      vocab_file = self.whole / 'vocab.txt'
      practice = self._blocks('practice', self.reading, vocab_file)
    self.measured = self.whole if has_questions else practice
    super().__init__(
      recipe,
      practice,
      learning=sizes_of(start),
      measuring={'corpus_dir': self.measured, 'recall_at': '1,5,20'},
      costs=plan.seconds,
    )
    # Without an encoder, weights are random.
    rates = (1.5e-4, 4e-5, 0.5) if start else (3e-3, 5e-4, 0.7)
    self.warm_up_rate, self.towers_rate, self.average_weight = rates
    self.sentences = self.reader = self.pretrained = ''
    # Model -> flags that name it, the least trained first.
    self.models: dict[str, dict[str, Any]] = {}

  def _blocks(
    self, name: str, reading: dict[str, Any], vocab_file: str
  ) -> runner.Output:
    return self.recipe.stage(
      name,
      'make_blocks',
      **reading,
      vocab_file=vocab_file,
      max_block_wordpieces=self.config.lengths.block_tokens,
      output_dir=runner.OUTPUT,
    )

  def _index(self, name: str, model: str, corpus: str) -> runner.Output:
    return self.index(name, model, at=name, corpus_dir=corpus)

  def learn_text(self) -> None:
    """Lists readers and better embedders, as the text has examples for."""
    before = after = self.start
    if 'embedders' in self.steps:
      after = self.train(
        'embedders', 'warm_start', self.config, init_from=self.start
      )
      before = self.start or after
    if 'span_reader' in self.steps:
      reader = self._learn_to_read(before)
      if 'realm' in self.steps:
        after = self._pretrain(after, reader)
    if after != before:
      after = self._average(after, before)
    if self.start:
      self.models['before'] = {'model_dir': self.start}
    if after != self.start:
      self.models['after'] = {'model_dir': after, 'reader_dir': self.reader}
    for name, model in self.models.items():
      model['index_dir'] = self._index(
        f'index_{name}', model['model_dir'], self.measured
      )

  def _learn_to_read(self, first: str) -> str:
    """Lists the readers of sentences; returns the one that fills in words."""
    self.sentences = self.recipe.stage(
      'queries',
      'make_queries',
      **self.reading,
      tagger=TAGGER,
      corpus_dir=self.corpus,
      output_dir=runner.OUTPUT,
    )
    texts: dict[str, Any] = {'queries_dir': self.sentences}
    reader = ''
    if 'reader' in self.steps:
      warm_up = variants.reader_warm_up(
        self.config,
        learning_rate=self.warm_up_rate,
        num_steps=self.steps['reader'],
        batch_size=32,
      )
      reader = self.train(
        'reader', 'pretrain', warm_up, init_from=first, **texts
      )
      if 'realm' not in self.steps:
        self.index('reader_index', reader)
        self.pretrained = reader
    spans = {'optimizer': {'num_steps': self.steps['span_reader']}}
    # A sentence encoder learns to read better than one that fills in words.
    self.reader = self.train(
      'span_reader',
      'finetune',
      config_files.merge(self.config, {'finetuning': spans}),
      retriever='bm25',
      init_from=self.start or reader,
      **texts,
    )
    return reader

  def _pretrain(self, embedders: str, reader: str) -> runner.Output:
    """Lists REALM; returns its best version, or the last without a measure."""
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
    return realm / 'best' if measures else realm

  def _average(self, model: str, before: str) -> runner.Output:
    return self.recipe.stage(
      'model',
      'average_models',
      model_dir=model,
      before_dir=before,
      weight=self.average_weight,
      output_dir=runner.OUTPUT,
    )

  def learn_questions(self, questions: str) -> None:
    """Trains both towers, then the reader with one block and with two."""
    steps, config = self.steps, self.config
    towers = {'learning_rate': self.towers_rate, 'num_steps': steps['towers']}
    batch_size = min(32, config.inverse_cloze.batch_size)
    changes = {
      'inverse_cloze': {
        'optimizer': towers,
        'batch_size': batch_size,
        'questions_of_title': 16,
      },
      'finetuning': {'optimizer': {'num_steps': steps['gold']}},
    }
    rate = config.finetuning.optimizer.learning_rate / 2
    second = {
      'optimizer': {'learning_rate': rate, 'num_steps': steps['qa']},
      'num_read': min(2, config.finetuning.num_searched),
    }
    model = self.train_on_questions(
      config_files.merge(config, changes),
      second,
      init_from=self.models['after']['model_dir'],
      reader_init_from=self.reader or self.start,
      corpus_dir=self.whole,
      questions=questions,
    )
    self.models['qa'] = {'model_dir': model}

  def open_page(self, held_out: str, test: str) -> None:
    """Measures all models and BM25, and names the best parts for the page.

    Args:
      held_out: Questions that decide, or ''; `test` only do without any.
    """
    recipe = self.recipe
    path = recipe.stage(
      'choice.json',
      own_text_choice.choose,
      models=list(self.models),
      evaluations=self._measure('eval', held_out or test),
      tests=self._measure('test', test) if held_out and test else [],
      output=runner.OUTPUT,
    )
    recipe.finish()
    with open(path, encoding='utf-8') as file:
      choice = json.load(file)
    parts = self.models[choice['model']]
    if self.measured is not self.whole:
      index = self._index('page_index', parts['model_dir'], self.whole)
      parts = {**parts, 'index_dir': index}
    qa = self.models['qa']['model_dir'] if choice['reads_qa'] else ''
    reader = qa or self.reader
    recipe.stage(
      'realm.json',
      runner.write_parts,
      **{**parts, 'reader_dir': reader if reader != parts['model_dir'] else ''},
      corpus_dir=self.whole,
      # Masked sentences need its index to be of the page's corpus.
      pretrained_dir=self.pretrained if self.corpus == self.whole else '',
      sparse_weight=choice['sparse_weight'],
      retriever=choice['retriever'],
      num_read=None if reader else 5,
      best_effort=not qa,
      output=runner.OUTPUT,
    )

  def _measure(self, folder: str, questions: str) -> list[runner.Output]:
    """Returns evaluations of BM25, and of each model without and with BM25.

    There are none without questions and held-out sentences.
    """
    measured: dict[str, Any] = {'questions': questions}
    share = self.config.held_out.share
    if share and self.measured is self.corpus:
      measured |= {
        'queries_dir': self.sentences,
        'held_out_share': share,
        'config': self.config,
      }
    elif not questions:
      return []
    searches: dict[str, Any] = {'bm25': {'retriever': 'bm25'}}
    for name, model in self.models.items():
      searches[name] = {**model, 'sparse_weight': [0, own_text_choice.WEIGHT]}
    return [
      self.evaluate(
        f'{folder}_{name}', at=f'{folder}/{name}', **measured, **search
      )
      for name, search in searches.items()
    ]
