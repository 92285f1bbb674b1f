"""Variants of a config that several recipes use."""

from realm_tf import config as config_lib
from realm_tf.config import config_files

# --set of an imported encoder: its own dropout is for texts seen more often.
NO_DROPOUT = [
  f'model.{field}=0'
  for field in (
    'embedder_bert.dropout_rate',
    'embedder_bert.attention_dropout_rate',
    'reader_bert.dropout_rate',
    'reader_bert.attention_dropout_rate',
    'embedder.dropout_rate',
  )
]


def reader_warm_up(
  config: config_lib.ExperimentConfig,
  *,
  learning_rate: float,
  num_steps: int,
  batch_size: int,
) -> config_lib.ExperimentConfig:
  """Returns pre-training of a reader alone, from text, for bin.pretrain.

  The reader fills in a masked sentence from a block with the masked words,
  which BM25 finds.
  """
  warm_up = {
    'optimizer': {'learning_rate': learning_rate, 'num_steps': num_steps},
    'candidates': 'recurring_span',
    'num_candidates': 1,
    'oversampling': 3,
    'batch_size': batch_size,
    'inverse_cloze_weight': 0.0,
  }
  return config_files.merge(config, {'pretraining': warm_up})
