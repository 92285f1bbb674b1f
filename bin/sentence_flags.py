"""Flags of masked sentences that are measured in place of questions."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional

from . import config_flags
from . import corpus_flags
from . import path_flags

from absl import flags

from realm_tf import config as config_lib
from realm_tf.config import names
from realm_tf.data import block_table
from realm_tf.qa import masked_sentences
from realm_tf.retrieval import retriever as retriever_lib

QUERIES_DIR = path_flags.existing(
  'queries_dir',
  'Queries of bin.make_queries: how often the first blocks have the masked '
  "span; a sentence's own block does not count.",
)
_HELD_OUT_SHARE = flags.DEFINE_float(
  'held_out_share',
  0.0,
  "Share of articles to measure, training's held_out.share; 0 is all.",
  0.0,
  1.0,
)


def read_fields() -> tuple[str, ...]:
  """Returns prefixes of the config's fields that mask the sentences, if any."""
  if not QUERIES_DIR.value:
    return ()
  # A model has its own lengths.
  by_words = flags.FLAGS.retriever in names.BY_WORDS
  return 'pretraining.masking=', *(['lengths.'] if by_words else [])


def measure(
  retriever: retriever_lib.Retriever,
  table: block_table.BlockTable,
  *,
  lengths: Optional[config_lib.LengthConfig],
  recall_at: list[int],
) -> dict[str, Any]:
  """Returns the span recall of --queries_dir; `lengths` are a model's own."""
  config = config_flags.config()
  if lengths:
    config = dataclasses.replace(config, lengths=lengths)
  return masked_sentences.span_recall(
    QUERIES_DIR.value,
    table,
    corpus_flags.tokenizer(),
    retriever=retriever,
    config=config,
    share=_HELD_OUT_SHARE.value,
    recall_at=recall_at,
    seed=flags.FLAGS.seed,
  )
