"""Every hyperparameter of the project, as frozen, checked dataclasses.

A function takes the smallest config that it reads: the ScaNN builder takes an
`IndexConfig`, never an `ExperimentConfig`. Defaults are the paper's values
(Guu et al. 2020, Section 4 and Appendix). The one __init__.py that names
things: a launch module finds all of them here.
"""

import dataclasses

from realm_tf.config.data import HeldOutConfig
from realm_tf.config.data import LengthConfig
from realm_tf.config.data import WorldConfig
from realm_tf.config.finetuning import FinetuningConfig
from realm_tf.config.index import IndexConfig
from realm_tf.config.model import BertConfig as BertConfig
from realm_tf.config.model import EmbedderConfig as EmbedderConfig
from realm_tf.config.model import ModelConfig
from realm_tf.config.training import InverseClozeConfig
from realm_tf.config.training import OptimizerConfig as OptimizerConfig
from realm_tf.config.training import PretrainingConfig
from realm_tf.config.training import TaggerConfig


@dataclasses.dataclass(frozen=True)
class ExperimentConfig:
  """All settings of an experiment."""

  seed: int = 0
  model: ModelConfig = ModelConfig()
  lengths: LengthConfig = LengthConfig()
  index: IndexConfig = IndexConfig()
  inverse_cloze: InverseClozeConfig = InverseClozeConfig()
  pretraining: PretrainingConfig = PretrainingConfig()
  finetuning: FinetuningConfig = FinetuningConfig()
  tagger: TaggerConfig = TaggerConfig()
  world: WorldConfig = WorldConfig()
  held_out: HeldOutConfig = HeldOutConfig()
