"""Settings of all rows of the paper's Tables 1 and 2, at a small size.

  bash launch/tables.sh RUN_DIR MODEL SQUAD_OPEN [ARTICLES] [FLAGS...]

The sizes are the imported encoder's (--model_of). The projection of [CLS] is
new, except in the two rows that start from a trained retriever.
"""

from realm_tf import config

CONFIG = config.ExperimentConfig(
  # The T5 of launch/table1.sh has MiniLM's width and number of layers.
  model=config.ModelConfig(
    seq2seq=config.Seq2SeqConfig(
      hidden_size=384,
      head_size=32,
      num_layers=3,
      num_heads=12,
      intermediate_size=1536,
    )
  ),
  lengths=config.LengthConfig(
    query_tokens=64,
    block_tokens=100,
    joint_tokens=162,
    question_tokens=40,
    title_tokens=16,
    max_masked=6,
  ),
  held_out=config.HeldOutConfig(share=0.05),
  inverse_cloze=config.InverseClozeConfig(
    optimizer=config.OptimizerConfig(2e-4, 300, warmup_steps=30),
    batch_size=64,
    checkpoint_every_steps=50,
  ),
  pretraining=config.PretrainingConfig(
    optimizer=config.OptimizerConfig(
      1e-4, 300, warmup_steps=30, embedder_rate_scale=0.5
    ),
    batch_size=16,
    num_candidates=6,
    oversampling=4,
    refresh_every_steps=75,
    checkpoint_every_steps=75,
    log_every_steps=25,
  ),
  finetuning=config.FinetuningConfig(
    optimizer=config.OptimizerConfig(
      2e-4, 800, warmup_steps=80, embedder_rate_scale=0.25
    ),
    batch_size=16,
    bucket_batches=16,
    num_searched=100,
    num_read=2,
    joint_tokens=146,
    checkpoint_every_steps=100,
    log_every_steps=25,
  ),
  path=config.PathConfig(
    optimizer=config.OptimizerConfig(1e-4, 1000, warmup_steps=50)
  ),
  closed_book=config.ClosedBookConfig(
    optimizer=config.OptimizerConfig(1e-3, 1500, warmup_steps=150),
    batch_size=64,
    input_tokens=64,
  ),
)
