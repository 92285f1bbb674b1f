"""Settings of REALM and QA at MiniLM's size, for real text on 2 CPU cores.

  bash launch/open_squad.sh RUN_DIR INIT_FROM SQUAD_OPEN

The first script uses 400 articles in blocks of at most 96 wordpieces: embedding
2,000 would take longer than training. The second has paragraphs of at most 288,
and reaches exact match 47.0, F1 58.3, recall@1/5/20 70.1 / 89.9 / 95.9; with
BM25's scores added 49.9, 61.8, 80.4 / 94.3 / 97.9 (docs/results/real_text.md).
"""

from realm_tf import config

# The sizes of all-MiniLM-L6-v2. The encoder is imported; the head for masked
# words is new.
_BERT = config.BertConfig(
  hidden_size=384,
  num_layers=6,
  num_heads=12,
  intermediate_size=1536,
  max_positions=512,
  initializer='mimetic',
  activation='gelu',
  dropout_rate=0.0,
  attention_dropout_rate=0.0,
)

CONFIG = config.ExperimentConfig(
  model=config.ModelConfig(
    embedder_bert=_BERT,
    reader_bert=_BERT,
    embedder=config.EmbedderConfig(
      head='mean',
      embedding_size=384,
      normalize=True,
      score_scale=20.0,
      shared_towers=True,
    ),
  ),
  lengths=config.LengthConfig(
    query_tokens=48,
    block_tokens=96,
    joint_tokens=144,
    question_tokens=40,
    title_tokens=16,
    max_masked=6,
  ),
  # A batch on questions has sixteen of one article, which makes them hard.
  inverse_cloze=config.InverseClozeConfig(
    optimizer=config.OptimizerConfig(4e-5, 700, warmup_steps=50),
    batch_size=32,
    questions_of_title=16,
    bucket_batches=16,
    checkpoint_every_steps=350,
  ),
  pretraining=config.PretrainingConfig(
    # At 2e-4 the imported encoder would forget how to retrieve.
    optimizer=config.OptimizerConfig(
      2e-4, 300, warmup_steps=20, embedder_rate_scale=0.1
    ),
    batch_size=8,
    num_candidates=4,
    oversampling=8,
    refresh_every_steps=50,
    checkpoint_every_steps=50,
    log_every_steps=25,
  ),
  finetuning=config.FinetuningConfig(
    # The reader needs some ten thousand questions to learn the task. Each
    # question is read with one block, its own.
    optimizer=config.OptimizerConfig(
      2e-4, 1800, warmup_steps=100, embedder_rate_scale=0.25
    ),
    batch_size=16,
    bucket_batches=16,
    num_searched=100,
    num_read=1,
    supervision='gold',
    joint_tokens=256,
    checkpoint_every_steps=200,
    log_every_steps=25,
  ),
)
