"""Batches of labeled sentences.

CoNLL sentences -> [this file] -> 'ids', 'label_ids', both int32 [B, L]
"""

from collections.abc import Iterator, Sequence

import numpy as np

from realm_tf import config as config_lib
from realm_tf.corpus import conll
from realm_tf.records import sampling
from realm_tf.tagging import token_labels
from realm_tf.text import wordpiece

_WIDTH = 16  # Batches are trimmed to a multiple of this.


def batches(
  sentences: Sequence[conll.LabeledSentence],
  tokenizer: wordpiece.WordpieceTokenizer,
  names: Sequence[str],
  *,
  experiment: config_lib.ExperimentConfig,
  share: sampling.Share = sampling.WHOLE,
) -> Iterator[dict[str, np.ndarray]]:
  """Yields endless batches; those of a step depend on seed and step only.

  Args:
    names: Names of the labels.
    share: This process's part of each batch, and the first step.
  """
  config = experiment.tagger
  tokens = tokenizer.tokenize_batch([s.text for s in sentences])
  labels = [
    token_labels.encode(sentence, own, tokenizer, names)
    for sentence, own in zip(sentences, tokens, strict=True)
  ]
  sampler = sampling.Sampler(len(sentences), config.batch_size, experiment.seed)
  length, step = config.max_tokens - 2, share.first_step
  while True:
    rows = sampler.rows(step)
    ids = share.trim(
      sampling.pad_rows([tokens[row].ids for row in rows], length), _WIDTH
    )
    label_ids = sampling.pad_rows(
      [labels[row] for row in rows], ids.shape[1], token_labels.NO_LABEL
    )
    yield share.take({'ids': ids, 'label_ids': label_ids})
    step += 1
