"""The demonstration's texts in the quickstart, and the jobs that read them."""

from collections.abc import Mapping, Sequence
import os
from typing import Any

from . import common
from . import quickstart_summary
from . import runner

from realm_tf import config

# Kinds of questions: beginnings of their files' names. The first ask for the
# same facts in three wordings; the others have no answer in the corpus.
WORDINGS = tuple(quickstart_summary.WORDS)
IMPOSSIBLE = 'missing_', 'foreign_'
READING: dict[str, Any] = {'num_read': 5, 'answer_by': 'text'}
# Of the page.
SERVED = {'sparse_weight': quickstart_summary.WEIGHT, **READING}


class World(common.Jobs):
  """Stages on the demonstration: its texts, and jobs that read them."""

  corpus: runner.Output

  def __init__(self, recipe: runner.Recipe, lengths: config.LengthConfig):
    self.folder = folder = recipe.stage(
      'world', 'unpack_demo', output_dir=runner.OUTPUT, cost=12
    )
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
      cost=18,
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
    measuring = {'questions': self.questions('test', *WORDINGS)}
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
      questions=self.questions('dev', *WORDINGS, *IMPOSSIBLE),
      examples=os.path.join(self.recipe.run_dir, 'examples.json'),
      example_questions=self.folder / 'plain_dev_questions.jsonl',
      **SERVED,
    )

  def best(self) -> runner.Output:
    """Returns the evaluation of REALM with BM25 after all questions."""
    evaluation = self.recipe.stages['evaluate_realm_all']
    return evaluation.output / quickstart_summary.HYBRID

  def change_fact(self, qa: runner.Output) -> None:
    """Adds an article with another answer, which the same model reads."""
    recipe = self.recipe
    right = self.best() / 'test_questions/predictions.jsonl'
    changed = recipe.stage(
      'changed', 'unpack_demo', predictions=right, output_dir=runner.OUTPUT
    )
    corpus = recipe.stage(
      'changed_corpus',
      'make_blocks',
      at=changed / 'corpus',
      input=changed / 'articles.jsonl',
      vocab_file=self.corpus / 'vocab.txt',
      **self.blocks,
    )
    # Only the corpus is indexed again.
    index = self.index(
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
      **SERVED,
    )

  def table(
    self, name: str, words: str, rows: Sequence[Mapping[str, str]]
  ) -> runner.Output:
    """Returns a table's file.

    Args:
      words: Wording of the test.
      rows: System -> its evaluation; McNemar's test is within a row.
    """
    stages = self.recipe.stages
    test = f'{words}test_questions'
    return self.recipe.stage(
      f'{words}{name}',
      'results_table',
      at=f'{words}{name}.json',
      run_dir=self.recipe.run_dir,
      title=quickstart_summary.WORDS[words].capitalize(),
      rows=[
        ','.join(f'{system}={path}/{test}' for system, path in row.items())
        for row in rows
      ],
      questions=self.folder / f'{test}.jsonl',
      output=runner.OUTPUT,
      needs=[
        stages[f'evaluate_{path.partition("/")[0]}'].output
        for row in rows
        for path in row.values()
      ],
    )
