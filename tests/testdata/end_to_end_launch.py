"""A model of one small layer: the end-to-end test is about the processes."""

from realm_tf import config

_BERT = config.BertConfig(
  hidden_size=16,
  num_layers=1,
  num_heads=2,
  intermediate_size=16,
  max_positions=128,
  dropout_rate=0.0,
  attention_dropout_rate=0.0,
)

CONFIG = config.ExperimentConfig(
  model=config.ModelConfig(
    embedder_bert=_BERT,
    reader_bert=_BERT,
    # Wide, so that an index is long enough in the writing to be caught at it.
    embedder=config.EmbedderConfig(embedding_size=2048),
    span_hidden_size=8,
    max_span_width=10,
  ),
  lengths=config.LengthConfig(
    query_tokens=32,
    block_tokens=48,
    joint_tokens=80,
    question_tokens=24,
    title_tokens=8,
    max_masked=8,
  ),
  inverse_cloze=config.InverseClozeConfig(
    jit_compile=False,
    optimizer=config.OptimizerConfig(1e-3, 4),
    batch_size=8,
    query_tokens=32,
  ),
  pretraining=config.PretrainingConfig(
    jit_compile=False,
    optimizer=config.OptimizerConfig(1e-3, 30),
    batch_size=4,
    num_candidates=3,
    refresh_every_steps=10,
    checkpoint_every_steps=5,
    log_every_steps=5,
  ),
  finetuning=config.FinetuningConfig(
    optimizer=config.OptimizerConfig(1e-3, 4),
    batch_size=4,
    num_searched=10,
    num_read=3,
    joint_tokens=80,
    jit_compile=False,
    log_every_steps=2,
  ),
)
