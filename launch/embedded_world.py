"""Stages on the demonstration: its texts, and jobs that read them."""

import itertools
from typing import Any

from . import common
from . import runner

from realm_tf import config as config_lib


class World(common.Jobs):
  """Articles, sentences and questions, and the corpus of the articles.

  Both tests ask for the same facts: one has the articles' words, the other has
  words that only the sentences for pre-training use.

  Args:
    config: Has the world's sizes, and the length of blocks.
  """

  corpus: runner.Output

  def __init__(
    self, recipe: runner.Recipe, config: config_lib.ExperimentConfig
  ):
    self._config = recipe.config(config)
    self.folder = folder = recipe.stage(
      'world', 'make_world', self._config, output_dir=runner.OUTPUT
    )
    self._blocks: dict[str, Any] = {
      'max_block_wordpieces': self._config.lengths.block_tokens,
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
    tests = ('test_questions.jsonl', 'reworded_test_questions.jsonl')
    measuring = {'questions': [folder / test for test in tests]}
    super().__init__(recipe, corpus, learning={}, measuring=measuring)

  def tagged(self, name: str, *texts: str) -> runner.Output:
    """Adds the queries of files of the world, which name their spans."""
    paths = [self.folder / f'{text}.jsonl' for text in texts]
    return self.queries(name, paths, format='tagged', cost=5)

  def train_questions(self, number: int | str) -> runner.Output:
    """Returns the file of the first `number` questions, or of 'all'."""
    questions = self.folder / 'train_questions.jsonl'
    if number == 'all':
      return questions
    return self.recipe.stage(
      f'{number}_questions',
      _first_lines,
      at=f'{number}_questions.jsonl',
      input=questions,
      number=number,
      output=runner.OUTPUT,
      cost=0,
    )

  def change_fact(self, model: runner.Output, predictions: str) -> None:
    """Changes one fact in one article, and indexes only the corpus again."""
    changed = self.recipe.stage(
      'changed',
      'make_world',
      self._config,
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
    )


def _first_lines(input: str, number: int, output: str) -> None:
  with open(input) as lines, open(output, 'w') as chosen:
    chosen.writelines(itertools.islice(lines, number))
