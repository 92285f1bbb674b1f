"""Settings for a retriever of your own text, without questions.

  bash launch/adapt.sh ARTICLES MODEL RUN_DIR [QUESTIONS] [FLAGS...]

The steps suit a few thousand paragraphs and 2 CPU cores; more text needs more.
On SQuAD's 2,067 validation paragraphs, MiniLM's recall@1/5/20 rises from 67.9 /
90.1 / 96.6 to 72.1 / 92.4 / 97.7 in 70 minutes of one core without AMX. The
model's sizes are the imported encoder's (--model_of).
"""

from realm_tf import config

CONFIG = config.ExperimentConfig(
  # Blocks of at most 100 wordpieces are embedded and read whole.
  lengths=config.LengthConfig(
    query_tokens=64,
    block_tokens=100,
    joint_tokens=162,
    question_tokens=40,
    title_tokens=16,
    max_masked=6,
  ),
  held_out=config.HeldOutConfig(share=0.1),
  # The encoder already finds the block of a whole sentence. It learns from
  # sentences without most of their words, because questions have few words.
  inverse_cloze=config.InverseClozeConfig(
    optimizer=config.OptimizerConfig(2e-5, 150, warmup_steps=15),
    batch_size=64,
    remove_rate=0.0,
    query_drop_rate=0.6,
    checkpoint_every_steps=50,
  ),
  pretraining=config.PretrainingConfig(
    optimizer=config.OptimizerConfig(
      1e-4, 300, warmup_steps=20, embedder_rate_scale=0.2
    ),
    candidates='hybrid',
    batch_size=16,
    num_candidates=6,
    oversampling=4,
    inverse_cloze_weight=1.0,
    refresh_every_steps=50,
    checkpoint_every_steps=50,
    log_every_steps=25,
  ),
)
