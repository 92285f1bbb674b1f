"""Settings of QA fine-tuning after REALM++.

  python -m bin.finetune --config=launch/realm_plus_plus.py \
      --corpus_dir=CORPUS --questions=NQ_TRAIN --init_from=MODEL --run_dir=RUN
  python -m bin.evaluate --model_dir=RUN --num_read=100 ...

Balachandran et al. 2021 (https://arxiv.org/abs/2104.08710) train the model of
launch/orqa_faithful.py with more questions a step, read more blocks in training
and still more in answering, and accept only blocks of the question's article
where the question names one. They report a gain of 5.5 points of exact match;
docs/results/quickstart.md measures the parts. Not run here: the networks need
an accelerator.
"""

from . import orqa_faithful

from realm_tf.config import config_files

_CHANGES = {
  'optimizer': {'learning_rate': 3e-5, 'num_steps': 2 * 79_168 // 16},
  'batch_size': 16,
  'num_read': 10,
  'supervision': 'gold',
  'read_answer_block': True,
}
CONFIG = config_files.merge(orqa_faithful.CONFIG, {'finetuning': _CHANGES})
