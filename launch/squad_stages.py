"""SQuAD's paragraphs as one corpus, its questions, and an imported encoder."""

from collections.abc import Mapping
from typing import Any, Optional

from . import common
from . import runner
from . import variants

from realm_tf import config as config_lib


class SquadOpen(common.Jobs):
  """Stages that recipes on SQuAD have in common.

  Args:
    folder: Holds {train,val}_{corpus,qa}.jsonl.gz.
    model: A Hugging Face BERT directory.
    blocks: Flags of bin.make_blocks.
  """

  def __init__(
    self,
    recipe: runner.Recipe,
    model: str,
    folder: str,
    *,
    config: config_lib.ExperimentConfig,
    costs: Optional[Mapping[str, float]] = None,
    **blocks: Any,
  ):
    self.texts, (self.train_qa, self.val_qa) = texts(folder)
    self.config = recipe.config(config)
    source = runner.Input(f'hf:{model}')
    self.start = recipe.stage(
      'start', 'import_checkpoint', source=source, output_dir=runner.OUTPUT
    )
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
      measuring={'questions': self.val_qa, 'recall_at': '1,5,20'},
      costs=costs,
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
