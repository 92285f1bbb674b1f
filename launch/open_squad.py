"""Open-domain QA on SQuAD's paragraphs, at MiniLM's size, on 2 CPU cores.

  bash launch/open_squad.sh RUN_DIR INIT_FROM SQUAD_OPEN

Not run whole yet; docs/results.md will have the figures.
"""

import dataclasses

from launch import wikipedia_sample
from realm_tf import config

CONFIG = dataclasses.replace(
  wikipedia_sample.CONFIG,
  lengths=dataclasses.replace(
    wikipedia_sample.CONFIG.lengths, block_tokens=288, joint_tokens=256
  ),
  finetuning=config.FinetuningConfig(
    optimizer=config.OptimizerConfig(1e-4, 450),
    batch_size=8,
    num_searched=100,
    num_read=3,
    joint_tokens=224,
    log_every_steps=25,
  ),
)
