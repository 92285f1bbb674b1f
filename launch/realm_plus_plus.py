"""Settings of QA fine-tuning after REALM++: the same model, trained better.

  python -m bin.finetune --config=launch/realm_plus_plus.py \
      --corpus_dir=CORPUS --questions=NQ_TRAIN --init_from=MODEL --run_dir=RUN
  python -m bin.evaluate --model_dir=RUN --num_read=100 ...

Balachandran et al. 2021 (https://arxiv.org/abs/2104.08710) change the settings
of launch/orqa_faithful.py: more questions a step, more blocks read in training
and still more in answering, and where a question names its article, only blocks
of that article count as correct. All but the number of blocks are the defaults
of `config.FinetuningConfig`. They report 5.5 points of exact match for all of
it; docs/results/quickstart.md has what each part brought here. These networks
need an accelerator and have not been run here.
"""

from realm_tf import config

CONFIG = config.ExperimentConfig(
  model=config.ModelConfig(
    embedder=config.EmbedderConfig(head='pooled', shared_towers=True),
    span_hidden_size=256,
    max_span_width=10,
  ),
  finetuning=config.FinetuningConfig(
    optimizer=config.OptimizerConfig(3e-5, 2 * 79_168 // 16),
    batch_size=16,
    num_searched=5000,
    num_read=10,
    supervision='gold',
    read_answer_block=True,
    joint_tokens=320,
  ),
)
