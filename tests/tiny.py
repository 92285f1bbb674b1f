"""A corpus, queries and a config for unit tests."""

from collections.abc import Iterable, Iterator, Sequence
import contextlib
import dataclasses
import json
import os
from typing import Any, Union

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import interfaces
from realm_tf.corpus import blocks as blocks_lib
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import columns
from realm_tf.data import corpus_files
from realm_tf.data import query_table
from realm_tf.text import wordpiece
from tests import fakes

TOKENIZER = fakes.tokenizer('. a b c d e f')  # Ids 5 to 11.
SPECIAL_IDS = TOKENIZER.special_ids
MAX_BLOCK_WORDPIECES = 10
# With 3 special tokens and a title of one wordpiece, two sentences fit in a
# block, so there are 4 blocks. The last two are from one article.
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


def bert(**changes: Any) -> config_lib.BertConfig:
  """Returns a config of one layer without dropout, with `changes`."""
  return dataclasses.replace(_BERT, **changes)


def changed(config: Any, **changes: Any) -> Any:
  """Returns `config` with `changes`; a dict changes fields of a section."""
  return dataclasses.replace(
    config,
    **{
      name: changed(getattr(config, name), **value)
      if isinstance(value, dict)
      else value
      for name, value in changes.items()
    },
  )


def config(**changes: Any) -> config_lib.ExperimentConfig:
  """Returns a config for `TOKENIZER`, with `changes`."""
  return changed(_CONFIG, **changes)


_CONFIG = config_lib.ExperimentConfig(
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
    jit_compile=False,  # Compiling takes longer than a test.
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
  """Returns `model` with all kinds of dropout, for `TOKENIZER`."""
  encoder = bert(
    vocab_size=TOKENIZER.vocab_size,
    dropout_rate=rate,
    attention_dropout_rate=rate,
  )
  embedder = dataclasses.replace(
    model.embedder,
    head='pooled',
    dropout_rate=rate,
    layer_norm_epsilon=1e-12,  # Small next to small embeddings.
  )
  return dataclasses.replace(
    model, embedder_bert=encoder, reader_bert=encoder, embedder=embedder
  )


def cut(
  articles: Iterable[sources.Article] = ARTICLES,
  tokenizer: wordpiece.WordpieceTokenizer = TOKENIZER,
  max_block_wordpieces: int = MAX_BLOCK_WORDPIECES,
) -> list[blocks_lib.Block]:
  return list(
    blocks_lib.cut_batch(list(articles), tokenizer, max_block_wordpieces)
  )


def write_blocks(
  blocks: Sequence[blocks_lib.Block],
  corpus_dir: str,
  tokenizer: wordpiece.WordpieceTokenizer = TOKENIZER,
  max_block_wordpieces: int = MAX_BLOCK_WORDPIECES,
) -> dict[str, Any]:
  """Returns the manifest of a new corpus."""
  return corpus_files.write(
    [block_table.encode(blocks)],
    corpus_dir,
    tokenizer,
    source={},
    max_block_wordpieces=max_block_wordpieces,
  )


def write_corpus(
  directory: str,
  articles: Iterable[sources.Article] = ARTICLES,
  name: str = 'corpus',
  *settings: Any,
) -> str:
  """Returns the path of a new corpus below `directory`.

  `settings` are a tokenizer and the most wordpieces of a block.
  """
  corpus_dir = os.path.join(directory, name)
  write_blocks(cut(articles, *settings), corpus_dir, *settings)
  return corpus_dir


def open_corpus(directory: str, *options: Any) -> block_table.BlockTable:
  """Returns a new corpus below `directory`; `options` as of `write_corpus`."""
  return block_table.BlockTable.open(write_corpus(directory, *options))


class Corpus:
  """The part of a `BlockTable` that queries need, without files."""

  def __init__(
    self,
    fingerprint: str = 'of no corpus',
    hashes: Sequence[int] = range(100),
    vocabulary_sha256: str = TOKENIZER.vocabulary_sha256,
  ):
    self.manifest = {
      'vocabulary_sha256': vocabulary_sha256,
      'corpus_fingerprint': fingerprint,
    }
    self.hashes = np.array(hashes, np.uint64)
    self.num_blocks = len(hashes)
    self.vocab_size = 99


def query(
  ids: Sequence[int],
  spans: Sequence[Sequence[int]] = (),
  own_block: int = interfaces.NULL_BLOCK,
  text: str = '',
) -> query_table.Query:
  return query_table.Query(
    np.array(ids, np.int32),
    np.array(spans, np.int32).reshape([-1, 2]),
    own_block,
    text,
  )


def write_queries(
  directory: str,
  queries: Iterable[query_table.Query],
  masking: str = 'salient',
  corpus: Union[Corpus, block_table.BlockTable] = Corpus(),  # noqa: B008
) -> str:
  """Returns the path of new queries below `directory`."""
  queries_dir = os.path.join(directory, 'queries')
  query_table.write(queries, queries_dir, corpus, masking=masking, source={})
  return queries_dir


def open_queries(
  directory: str,
  queries: Iterable[tuple[str, list, int]],
  masking: str = 'salient',
) -> query_table.QueryTable:
  """Returns new queries below `directory`.

  Each is (text, salient spans in wordpieces, own block).
  """
  return query_table.QueryTable.open(
    write_queries(
      directory,
      (
        query(TOKENIZER.tokenize(text).ids, spans, own, text)
        for text, spans, own in queries
      ),
      masking,
    )
  )


def read_rows(path: str) -> list[dict[str, Any]]:
  """Returns the rows of a JSONL file."""
  with open(path) as file:
    return [json.loads(line) for line in file]


def assert_columns_equal(actual: Any, expected: Any) -> None:
  """Compares two batches of columns, such as `EncodedBlocks`."""
  for name, *pair in zip(expected._fields, actual, expected, strict=True):
    if isinstance(pair[1], columns.Rows):
      np.testing.assert_array_equal(*(x.offsets for x in pair), name)
      pair = [x.values for x in pair]
    np.testing.assert_array_equal(*pair, name, strict=True)


def tokens(ids: Any) -> dict[str, tf.Tensor]:
  """Returns BERT's inputs for zero-padded wordpieces, [..., L]."""
  ids = tf.constant(ids, tf.int32)
  return {
    'input_word_ids': ids,
    'input_mask': tf.cast(ids != 0, tf.int32),
    'input_type_ids': tf.zeros_like(ids),
  }


@contextlib.contextmanager
def eagerly() -> Iterator[None]:
  """Traces no function: a few steps take less time than the trace of one."""
  tf.config.run_functions_eagerly(True)
  try:
    yield
  finally:
    tf.config.run_functions_eagerly(False)


def embeddings(num_blocks: int) -> np.ndarray:
  """Returns different block embeddings, [num_blocks, 4]."""
  return np.arange(num_blocks * 4, dtype=np.float32).reshape([num_blocks, 4])
