"""Stages on the demonstration: its texts, and jobs that read them."""

import itertools
import os
from typing import Any

from . import common
from . import runner

from realm_tf import config as config_lib

# Kinds of questions: beginnings of their files' names.
WORDINGS = '', 'reworded_', 'unseen_'
IMPOSSIBLE = 'missing_', 'foreign_'


class World(common.Jobs):
  """Articles, sentences and questions, and the corpus of the articles.

  The tests of WORDINGS ask for the same facts: in the articles' words, in words
  that only the sentences for pre-training use, and in forms that no training
  question has. The tests of IMPOSSIBLE have no answer in the corpus.

  Args:
    config: Has the length of blocks.
  """

  corpus: runner.Output
  practice: runner.Output  # With invented countries, which questions train.

  def __init__(
    self, recipe: runner.Recipe, config: config_lib.ExperimentConfig
  ):
    self.folder = folder = recipe.stage(
      'world', 'unpack_demo', output_dir=runner.OUTPUT
    )
    lengths = recipe.config(config).lengths
    self._blocks: dict[str, Any] = {
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
      **self._blocks,
    )
    self.practice = recipe.stage(
      'practice',
      'make_blocks',
      append=corpus,
      input=folder / 'practice_articles.jsonl',
      **self._blocks,
    )
    measuring = {'questions': self.questions('test', *WORDINGS)}
    super().__init__(recipe, corpus, learning={}, measuring=measuring)

  def tagged(self, name: str, *texts: str) -> runner.Output:
    """Adds the queries of files of the world, which name their spans."""
    paths = [self.folder / f'{text}.jsonl' for text in texts]
    return self.queries(name, input=paths, format='tagged', cost=5)

  def questions(self, split: str, *kinds: str) -> list[runner.Output]:
    """Returns the files of questions of a split."""
    return [self.folder / f'{kind}{split}_questions.jsonl' for kind in kinds]

  def learn(
    self,
    name: str,
    config: config_lib.ExperimentConfig,
    number: int | str,
    **flags: Any,
  ) -> runner.Output:
    """Adds a training on the first `number` questions, and a model's index.

    'all' are also the impossible ones, and sentences: without them, long
    training forgets the words that only sentences have.
    """
    (asked,) = self.questions('practice', '')
    questions = [asked, *self.questions('train', *IMPOSSIBLE)]
    if number != 'all':
      chosen = self.recipe.stage(
        f'{number}_questions',
        _first_lines,
        at=f'{number}_questions.jsonl',
        input=asked,
        number=number,
        output=runner.OUTPUT,
        cost=0,
      )
      questions = [chosen]
    else:
      flags['queries_dir'] = self.tagged('queries', 'sentences')
    model = self.train(
      name,
      'finetune',
      config,
      corpus_dir=self.practice,
      questions=questions,
      **flags,
    )
    self.index(f'{name}_index', model, cost=5)
    return model

  def calibrate(self, model: runner.Output, **search: Any) -> None:
    """Fits the probabilities of a model's answers, for the flags `search`.

    RUN_DIR/examples.json gets the likeliest right answers' questions.
    """
    self.recipe.stage(
      'calibration',
      'calibrate',
      at=model / 'calibration.json',
      model_dir=model,
      corpus_dir=self.corpus,
      questions=self.questions('dev', *WORDINGS, *IMPOSSIBLE),
      examples=os.path.join(self.recipe.run_dir, 'examples.json'),
      **search,
    )

  def change_fact(
    self, model: runner.Output, predictions: str, **search: Any
  ) -> None:
    """Changes one fact in one article, and indexes only the corpus again.

    `search` holds flags of the evaluation of the changed fact.
    """
    changed = self.recipe.stage(
      'changed',
      'unpack_demo',
      predictions=predictions,
      output_dir=runner.OUTPUT,
    )
    corpus = self.recipe.stage(
      'changed_corpus',
      'make_blocks',
      at=changed / 'corpus',
      input=changed / 'articles.jsonl',
      vocab_file=self.corpus / 'vocab.txt',
      **self._blocks,
    )
    at = changed / 'index'
    index = self.index('changed_index', model, at=at, corpus_dir=corpus)
    self.recipe.stage(
      'changed_answer',
      'evaluate',
      at=changed / 'answer',
      model_dir=model,
      corpus_dir=corpus,
      index_dir=index,
      questions=changed / 'question.jsonl',
      output_dir=runner.OUTPUT,
      **search,
    )


def _first_lines(input: str, number: int, output: str) -> None:
  with open(input) as lines, open(output, 'w') as chosen:
    chosen.writelines(itertools.islice(lines, number))
