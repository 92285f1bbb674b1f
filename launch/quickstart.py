"""Settings of the main job on the embedded world of countries and cities.

  bash launch/quickstart.sh

All stages take 11 to 34 minutes on 2 CPU cores without AMX. After 1,000
questions REALM's exact match is 79 to 80, 5 to 12 points above ICT's and 8 to
12 above BM25's; after all it is 90 to 91, 2 to 3 and 8 to 10 points above. On
reworded questions, in words that only the pre-training sentences use, REALM
with BM25 has 59 to 68, BM25 49 to 62 and ICT 24 to 35
(docs/results/quickstart.md).
"""

from realm_tf import config

_BERT = config.BertConfig(
  hidden_size=128,
  num_layers=2,
  num_heads=2,
  intermediate_size=256,
  max_positions=128,
  initializer='mimetic',
  activation='relu',
  dropout_rate=0.0,
  attention_dropout_rate=0.0,
)

CONFIG = config.ExperimentConfig(
  model=config.ModelConfig(
    embedder_bert=_BERT,
    reader_bert=_BERT,
    embedder=config.EmbedderConfig(head='mean', shared_towers=True),
    span_hidden_size=64,
    max_span_width=6,
    seq2seq=config.Seq2SeqConfig(
      hidden_size=128, num_layers=2, num_heads=2, intermediate_size=256
    ),
  ),
  lengths=config.LengthConfig(
    query_tokens=26,
    block_tokens=32,
    joint_tokens=56,
    question_tokens=24,
    title_tokens=12,
    max_masked=5,
  ),
  index=config.IndexConfig(searcher='auto', exact_below_blocks=50_000),
  inverse_cloze=config.InverseClozeConfig(
    optimizer=config.OptimizerConfig(1e-3, 200, warmup_steps=20),
    batch_size=128,
    query_tokens=28,
    query_noise_rate=0.4,
  ),
  pretraining=config.PretrainingConfig(
    optimizer=config.OptimizerConfig(
      1e-3, 600, warmup_steps=30, embedder_rate_scale=0.5
    ),
    batch_size=32,
    num_candidates=7,
    refresh_every_steps=50,
    checkpoint_every_steps=100,
    log_every_steps=25,
  ),
  finetuning=config.FinetuningConfig(
    optimizer=config.OptimizerConfig(2e-3, 700, warmup_steps=40),
    batch_size=32,
    num_searched=50,
    num_read=2,
    # An answer "9" stands in many blocks; only the article's own is correct.
    supervision='gold',
    joint_tokens=59,
    log_every_steps=50,
  ),
  path=config.PathConfig(
    optimizer=config.OptimizerConfig(1e-3, 1500, warmup_steps=50)
  ),
  # The rival without retrieval. It trains as long as the reader's warm-up.
  closed_book=config.ClosedBookConfig(
    optimizer=config.OptimizerConfig(3e-3, 2500, warmup_steps=100),
    batch_size=64,
    input_tokens=26,
    answer_tokens=8,
  ),
)
