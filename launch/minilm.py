"""REALM and QA at MiniLM's size: real text on a machine without accelerator.

  bash launch/wikipedia_sample.sh RUN_DIR ARTICLES MINILM
  bash launch/open_squad.sh RUN_DIR INIT_FROM SQUAD_OPEN

For 2 CPU cores, where embedding the whole text of 2,000 long articles takes
longer than training on it: so of a block of 288 the first 48 wordpieces are
embedded and, in pre-training, read. Measured in 300 steps, on sentences whose
candidates hold the answer: marginal retrieval utility 1.7 to 4.0, of a step's
log-likelihood (means of 100) -7.5 to -6.8; beside each other 7.7 s a step and
590 s a refresh. The second script's towers, from the imported encoder: exact
match 47.0, F1 58.3, recall@1/5/20 70.1 / 89.9 / 95.9, and 49.9, 61.8, 80.4 /
94.3 / 97.9 with BM25 beside them; docs/results.md has the rest.
"""

from realm_tf import config

# all-MiniLM-L6-v2's sizes; of its weights the encoder's are imported, and the
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
    block_tokens=48,
    joint_tokens=96,
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
