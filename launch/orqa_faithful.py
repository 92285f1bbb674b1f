"""Settings of QA fine-tuning exactly as in ORQA and REALM.

  python -m bin.finetune --config=launch/orqa_faithful.py \
      --corpus_dir=CORPUS --questions=NQ_TRAIN --init_from=MODEL --run_dir=RUN

Section 4.3 of Guu et al. 2020, completed by Lee et al. 2019: one question a
step, the early-update loss over 5,000 blocks, five blocks read at 320
wordpieces with the question and without titles, spans of at most ten
wordpieces, every block with an answer's text counted as correct, Embed_doc
frozen. The paper reports 40.4 exact match on NaturalQuestions-open after two
epochs from a CC-News pre-training. Not run here: the networks and 13 million
blocks need an accelerator. We recommend the defaults of
`config.FinetuningConfig` instead.
"""

from realm_tf import config

CONFIG = config.ExperimentConfig(
  model=config.ModelConfig(
    embedder=config.EmbedderConfig(head='pooled', shared_towers=True),
    span_hidden_size=256,
    max_span_width=10,
  ),
  finetuning=config.FinetuningConfig(
    optimizer=config.OptimizerConfig(1e-5, 2 * 79_168),
    batch_size=1,
    num_searched=5000,
    num_read=5,
    objective='marginal',
    supervision='answer',
    read_titles=False,
    read_answer_block=False,
    joint_tokens=320,
  ),
)
