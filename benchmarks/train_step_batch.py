"""Makes the batch of benchmarks/train_step.py for us and for the peers.

4 queries of 64 wordpieces with 8 candidates each, of 192, packed to joint
sequences of 192. All have the full length: there is no padding to skip. In the
batches 'with null' the first candidate is the null block, as in pre-training.
"""

import numpy as np

from realm_tf import config as config_lib

NUM_QUERIES, NUM_CANDIDATES = 4, 8
VOCAB_SIZE = 30522
SPECIAL_IDS = (101, 102)  # [CLS] and [SEP] of BERT's vocabularies.
_MASK_ID, _FIRST_WORD = 103, 1000
_TITLE_TOKENS = 8
LENGTHS = config_lib.LengthConfig(
  query_tokens=64, block_tokens=192, joint_tokens=192, title_tokens=8
)


def ours(has_null: bool) -> dict[str, np.ndarray]:
  """Returns what `pretraining_trainer.PretrainingTrainer` takes."""
  rng = np.random.default_rng(0)
  words = lambda *shape: rng.integers(
    _FIRST_WORD, VOCAB_SIZE, shape, dtype=np.int32
  )
  rows, query_width = (NUM_QUERIES, NUM_CANDIDATES), LENGTHS.query_tokens - 2
  num_masked = LENGTHS.max_masked
  positions = np.stack(
    [
      np.sort(rng.choice(query_width, num_masked, replace=False))
      for _ in range(NUM_QUERIES)
    ]
  )
  query_ids = words(NUM_QUERIES, query_width)
  gold_ids = np.take_along_axis(query_ids, positions, axis=1)
  np.put_along_axis(query_ids, positions, _MASK_ID, axis=1)
  titles = words(*rows, _TITLE_TOKENS)
  bodies = words(*rows, LENGTHS.block_tokens - _TITLE_TOKENS - 3)
  if has_null:
    titles[:, 0] = bodies[:, 0] = 0
  return {
    'query_ids': query_ids,
    'masked_positions': positions.astype(np.int32),
    'gold_ids': gold_ids,
    'token_mask': np.ones([NUM_QUERIES, num_masked], np.float32),
    'title_ids': titles,
    'body_ids': bodies,
    'is_real': np.ones(rows, bool),
  }


def theirs() -> dict[str, np.ndarray]:
  """Returns what transformers' RealmKnowledgeAugEncoder takes."""
  batch = ours(has_null=False)
  cls_id, sep_id = SPECIAL_IDS
  shape = (NUM_QUERIES, NUM_CANDIDATES, LENGTHS.joint_tokens)
  ids = np.full(shape, sep_id, np.int64)
  second = LENGTHS.query_tokens
  ids[:, :, 0] = cls_id
  ids[:, :, 1 : second - 1] = batch['query_ids'][:, None]
  ids[:, :, second:-1] = batch['body_ids'][:, :, : shape[2] - second - 1]
  positions = batch['masked_positions'] + 1
  labels = np.zeros([NUM_QUERIES, shape[2]], np.int64)
  np.put_along_axis(labels, positions, batch['gold_ids'], axis=1)
  return {
    'input_ids': ids,
    'attention_mask': np.ones_like(ids),
    'token_type_ids': np.broadcast_to(
      np.arange(shape[2]) >= second, shape
    ).astype(np.int64),
    'labels': labels,
    'mlm_mask': (labels > 0).astype(np.int64),
    'relevance_score': np.zeros(shape[:2], np.float32),
  }
