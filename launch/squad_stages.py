"""A corpus, its questions and an imported encoder; SQuAD's are an example."""

from collections.abc import Mapping, Sequence
from typing import Any, Optional

from . import common
from . import runner
from . import variants

from realm_tf import config as config_lib


class Imported(common.Jobs):
  """Stages that recipes on one corpus with an imported encoder have in common.

  Args:
    model: A Hugging Face BERT directory.
    texts: Articles, --input of bin.make_blocks.
    questions: Measure.
    judging: More flags of bin.evaluate.
    blocks: Flags of bin.make_blocks.
  """

  def __init__(
    self,
    recipe: runner.Recipe,
    model: str,
    texts: Sequence[str],
    questions: Sequence[str],
    *,
    config: config_lib.ExperimentConfig,
    costs: Optional[Mapping[str, float]] = None,
    judging: Optional[Mapping[str, Any]] = None,
    **blocks: Any,
  ):
    self.recipe, self.texts = recipe, list(texts)
    self.config = recipe.config(config)
    self.start = self.imported('start', model)
    self.blocks: dict[str, Any] = {
      'vocab_file': self.start / 'vocab.txt',
      'max_block_wordpieces': self.config.lengths.block_tokens,
      'output_dir': runner.OUTPUT,
      **blocks,
    }
    super().__init__(
      recipe,
      recipe.stage('corpus', 'make_blocks', input=self.texts, **self.blocks),
      learning={'model_of': self.start, 'set': variants.NO_DROPOUT},
      measuring={
        'questions': list(questions),
        'recall_at': '1,5,20',
        **(judging or {}),
      },
      costs=costs,
    )

  def imported(self, name: str, model: str) -> runner.Output:
    """Adds the model directory of a Hugging Face BERT."""
    source = runner.Input(f'hf:{model}')
    if isinstance(model, runner.Output):
      source = runner.Output(f'hf:{model}', model.stage)
    return self.recipe.stage(
      name, 'import_checkpoint', source=source, output_dir=runner.OUTPUT
    )


def texts(folder: str) -> list[list[runner.Input]]:
  """Returns the paragraphs, then the questions, of train and of val."""
  return [
    [
      runner.Input(f'{folder}/{part}_{kind}.jsonl.gz')
      for part in ('train', 'val')
    ]
    for kind in ('corpus', 'qa')
  ]
