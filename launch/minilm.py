"""Settings of REALM and QA at MiniLM's size, for real text without accelerator.

  bash launch/wikipedia_sample.sh RUN_DIR ARTICLES MINILM
  bash launch/open_squad.sh RUN_DIR INIT_FROM SQUAD_OPEN

For 2 CPU cores. There, embedding 2,000 long articles takes longer than training
on them, so the first script takes 400, in blocks of at most 96 wordpieces. The
second script has paragraphs of at most 288, and reaches exact match 47.0, F1
58.3, recall@1/5/20 70.1 / 89.9 / 95.9; with BM25 beside the embeddings 49.9,
61.8, 80.4 / 94.3 / 97.9. docs/results/real_text.md has the rest.
"""

from realm_tf import config

# The sizes of all-MiniLM-L6-v2. Its encoder's weights are imported; the
# masked-language-model head is new.
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
  # On questions: sixteen of one subject are told apart in each batch.
  inverse_cloze=config.InverseClozeConfig(
    optimizer=config.OptimizerConfig(4e-5, 700, warmup_steps=50),
    batch_size=32,
    questions_of_title=16,
    bucket_batches=16,
    checkpoint_every_steps=350,
  ),
  pretraining=config.PretrainingConfig(
    # The imported encoder retrieves well already: at 2e-4 it forgets that.
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
    # The reader must learn what a question is in some ten thousand of them:
    # so each is read beside one block, that which it was written on.
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
