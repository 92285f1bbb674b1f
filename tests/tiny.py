"""A corpus and a config that are small enough for a unit test."""

from collections.abc import Iterable
import dataclasses
import os

import numpy as np

from realm_tf import config as config_lib
from realm_tf.corpus import blocks
from realm_tf.corpus import sources
from realm_tf.records import block_table
from realm_tf.records import query_table
from realm_tf.records import shards
from tests import fakes

TOKENIZER = fakes.tokenizer('. a b c d e f')  # Ids 5 to 11.
SPECIAL_IDS = TOKENIZER.special_ids
MAX_BLOCK_WORDPIECES = 10
# With 3 specials and a title of one wordpiece, a block takes two sentences: so
# there are 4 blocks, of which the last two are of one article.
ARTICLES = (
  sources.Article('a', 'A b. C d.', 'first'),
  sources.Article('b', 'E f. A c.', 'second'),
  sources.Article('c', 'B d. C e. D f. E a.', 'third'),
)

_BERT = config_lib.BertConfig(
  hidden_size=8,
  num_layers=1,
  num_heads=2,
  intermediate_size=8,
  max_positions=32,
  dropout_rate=0.0,
  attention_dropout_rate=0.0,
)


def config() -> config_lib.ExperimentConfig:
  """Returns a config for `TOKENIZER`; only what tests change is left out."""
  return config_lib.ExperimentConfig(
    model=config_lib.ModelConfig(
      embedder_bert=_BERT,
      reader_bert=_BERT,
      embedder=config_lib.EmbedderConfig(embedding_size=4),
      span_hidden_size=4,
      max_span_width=2,
      train_dtype='float32',
    ),
    lengths=config_lib.LengthConfig(
      query_tokens=8,
      block_tokens=12,
      joint_tokens=20,
      question_tokens=6,
      title_tokens=2,
      max_masked=2,
    ),
    inverse_cloze=config_lib.InverseClozeConfig(
      optimizer=config_lib.OptimizerConfig(1e-2, 4),
      batch_size=2,
      query_tokens=8,
      jit_compile=False,
    ),
    pretraining=config_lib.PretrainingConfig(
      jit_compile=False,  # It takes longer than a test.
      optimizer=config_lib.OptimizerConfig(1e-2, 4),
      batch_size=2,
      num_candidates=3,
    ),
    finetuning=config_lib.FinetuningConfig(
      optimizer=config_lib.OptimizerConfig(1e-2, 4),
      batch_size=1,
      num_searched=3,
      num_read=2,
      supervision='answer',
      read_answer_block=False,
      joint_tokens=20,
      jit_compile=False,
    ),
  )


def with_dropout(
  model: config_lib.ModelConfig, rate: float
) -> config_lib.ModelConfig:
  """Returns `model` with all kinds of dropout, and the vocabulary's size."""
  bert = dataclasses.replace(
    _BERT,
    vocab_size=TOKENIZER.vocab_size,
    dropout_rate=rate,
    attention_dropout_rate=rate,
  )
  embedder = dataclasses.replace(
    model.embedder,
    head='pooled',
    dropout_rate=rate,
    layer_norm_epsilon=1e-12,  # Such small embeddings vanish in a larger one.
  )
  return dataclasses.replace(
    model, embedder_bert=bert, reader_bert=bert, embedder=embedder
  )


def write_corpus(
  directory: str, articles: Iterable[sources.Article] = ARTICLES
) -> str:
  """Writes a corpus of articles below `directory`; returns where."""
  corpus_dir = os.path.join(directory, 'corpus')
  shards.write_corpus(
    blocks.cut_corpus(articles, TOKENIZER, MAX_BLOCK_WORDPIECES),
    corpus_dir,
    TOKENIZER,
    {},
    max_block_wordpieces=MAX_BLOCK_WORDPIECES,
  )
  return corpus_dir


def open_corpus(directory: str) -> block_table.BlockTable:
  """Writes the corpus of `ARTICLES` below `directory` and opens it."""
  return block_table.BlockTable.open(write_corpus(directory))


def open_queries(
  directory: str,
  queries: Iterable[tuple[str, list, int]],
  masking: str = 'salient',
) -> query_table.QueryTable:
  """Writes queries below `directory` and opens them.

  Args:
    directory: Of the test.
    queries: Text, its salient spans, and the block that it is from.
    masking: Of the queries.
  """
  queries_dir = os.path.join(directory, 'queries')
  query_table.write_queries(
    (
      query_table.Query(
        TOKENIZER.tokenize(text).ids,
        np.array(spans, np.int32).reshape([-1, 2]),
        own,
        text,
      )
      for text, spans, own in queries
    ),
    queries_dir,
    query_table.QueriesInfo('', masking, None, {}),
  )
  return query_table.QueryTable.open(queries_dir)


def embeddings(num_blocks: int) -> np.ndarray:
  """Returns block embeddings of the config's size, [num_blocks, 4]."""
  return np.arange(num_blocks * 4, dtype=np.float32).reshape([num_blocks, 4])
