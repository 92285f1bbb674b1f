"""Stages on the demonstration: its texts, and jobs that read them."""

import itertools
from typing import Any

from . import runner

from realm_tf import config as config_lib


class World:
  """Articles, sentences and questions, and the corpus of the articles.

  Args:
    config: Has the world's sizes, and the length of blocks.
  """

  def __init__(
    self, recipe: runner.Recipe, config: config_lib.ExperimentConfig
  ):
    self.recipe = recipe
    self._config = config
    self.folder = recipe.stage(
      'world', 'make_world', recipe.config(config), output_dir=runner.OUTPUT
    )
    self.corpus = self._blocks(
      'corpus',
      input=self.folder / 'articles.jsonl',
      vocab_text=self.folder / 'sentences.jsonl',
      links='titles',
    )

  def queries(self, name: str, *texts: str) -> runner.Output:
    """Adds sentences with spans to mask."""
    return self.recipe.stage(
      name,
      'make_queries',
      input=[self.folder / f'{text}.jsonl' for text in texts],
      format='tagged',
      corpus_dir=self.corpus,
      output_dir=runner.OUTPUT,
      cost=5,
    )

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

  def train(
    self,
    name: str,
    binary: str,
    config: config_lib.ExperimentConfig,
    **flags: Any,
  ) -> runner.Output:
    """Adds a training job."""
    return self.recipe.stage(
      name,
      binary,
      self.recipe.config(config),
      corpus_dir=self.corpus,
      run_dir=runner.OUTPUT,
      **flags,
    )

  def index(self, name: str, model: runner.Output) -> None:
    """Adds a model's index, in its directory."""
    self.recipe.stage(
      name,
      'build_index',
      at=model / 'index',
      model_dir=model,
      corpus_dir=self.corpus,
      output_dir=runner.OUTPUT,
      cost=5,
    )

  def evaluate(self, name: str, **flags: Any) -> runner.Output:
    """Adds an evaluation on two tests that ask for the same facts.

    One has the articles' words, the other has words that only the sentences
    for pre-training use.
    """
    return self.recipe.stage(
      f'evaluate_{name}',
      'evaluate',
      at=f'eval/{name}',
      corpus_dir=self.corpus,
      questions=[
        self.folder / 'test_questions.jsonl',
        self.folder / 'reworded_test_questions.jsonl',
      ],
      output_dir=runner.OUTPUT,
      **flags,
    )

  def change_fact(self, model: runner.Output, predictions: str) -> None:
    """Changes one fact in one article, and indexes only the corpus again."""
    changed = self.recipe.stage(
      'changed',
      'change_fact',
      self.recipe.config(self._config),
      questions=self.folder / 'test_questions.jsonl',
      predictions=predictions,
      output_dir=runner.OUTPUT,
    )
    corpus = self._blocks(
      'changed_corpus',
      at=changed / 'corpus',
      input=changed / 'articles.jsonl',
      vocab_file=self.corpus / 'vocab.txt',
    )
    flags: dict[str, Any] = {'model_dir': model, 'corpus_dir': corpus}
    index = self.recipe.stage(
      'changed_index',
      'build_index',
      at=changed / 'index',
      output_dir=runner.OUTPUT,
      **flags,
    )
    self.recipe.stage(
      'changed_answer',
      'evaluate',
      at=changed / 'answer',
      index_dir=index,
      questions=changed / 'question.jsonl',
      output_dir=runner.OUTPUT,
      **flags,
    )

  def _blocks(self, name: str, **flags: Any) -> runner.Output:
    return self.recipe.stage(
      name,
      'make_blocks',
      max_block_wordpieces=self._config.lengths.block_tokens,
      output_dir=runner.OUTPUT,
      **flags,
    )


def _first_lines(input: str, number: int, output: str) -> None:
  with open(input) as lines, open(output, 'w') as chosen:
    chosen.writelines(itertools.islice(lines, number))
