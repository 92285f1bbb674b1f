"""Every hyperparameter of the project, as frozen, checked dataclasses.

Defaults are the paper's values (Guu et al. 2020, Section 4 and Appendix). A
function takes the smallest config that it reads, such as `IndexConfig`.
"""

from realm_tf.config.experiment import NUM_COMPARED as NUM_COMPARED
from realm_tf.config.experiment import ExperimentConfig as ExperimentConfig
from realm_tf.config.experiment import HeldOutConfig as HeldOutConfig
from realm_tf.config.experiment import IndexConfig as IndexConfig
from realm_tf.config.experiment import LengthConfig as LengthConfig
from realm_tf.config.jobs import ClosedBookConfig as ClosedBookConfig
from realm_tf.config.jobs import FinetuningConfig as FinetuningConfig
from realm_tf.config.jobs import InverseClozeConfig as InverseClozeConfig
from realm_tf.config.jobs import JobConfig as JobConfig
from realm_tf.config.jobs import OptimizerConfig as OptimizerConfig
from realm_tf.config.jobs import PathConfig as PathConfig
from realm_tf.config.jobs import PretrainingConfig as PretrainingConfig
from realm_tf.config.jobs import TaggerConfig as TaggerConfig
from realm_tf.config.networks import BertConfig as BertConfig
from realm_tf.config.networks import EmbedderConfig as EmbedderConfig
from realm_tf.config.networks import ModelConfig as ModelConfig
from realm_tf.config.networks import Seq2SeqConfig as Seq2SeqConfig
