"""Writes an imported model as model directory, corpus and index.

Training starts missing parts from random weights.
"""

from collections.abc import Iterator
import dataclasses
import os

from absl import logging
import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import corpus_files
from realm_tf.exchange import block_texts
from realm_tf.exchange import hugging_face_files
from realm_tf.exchange import imported as imported_lib
from realm_tf.index import index_builder
from realm_tf.index import model_files
from realm_tf.model import realm_model
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.run import manifests
from realm_tf.run import versions
from realm_tf.text import wordpiece

_STEP = 0  # A later training continues from here.
_MIN_TOKENS = 5  # [CLS] title [SEP] body [SEP].
# Sample texts, to check that a prompt's last word does not grow by a text.
_FOLLOWING = 'a', '1'
_MAX_PADDING = 128  # Rows. Some tables are padded to a multiple of 128 or less.


def write(
  imported: imported_lib.Imported,
  output_dir: str,
  corpus_dir: str | None = None,
  num_workers: int = 1,
) -> list[str]:
  """Writes all parts of the source; returns the written paths.

  The corpus of the source's blocks is written unless it exists; by default
  `corpus_dir` is `output_dir`/corpus.
  """
  vocab_file = imported.require_vocabulary()
  parts = realm_model.parts_of(imported.arrays)
  is_t5 = realm_model.SEQ2SEQ in parts  # It has no wordpieces and no blocks.
  config = config_lib.ExperimentConfig(model=imported.model)
  if not is_t5:
    tokenizer = wordpiece.WordpieceTokenizer.from_file(vocab_file)
    _check_vocabulary(imported.model, tokenizer, vocab_file)
    config = fit_lengths(imported, tokenizer)
    parts = [realm_model.EMBEDDER, *parts]  # An index must have it.
  model = realm_model.RealmModel(config.model, parts)
  loaded = model.load(imported.arrays)  # Checks every shape.
  if is_t5:
    realm_model.require_parts(loaded, 'The source')
  model_files.create_new(output_dir, config, vocab_file)
  corpus_dir = corpus_dir or os.path.join(output_dir, 'corpus')
  written = []
  if imported.blocks_file and not manifests.is_complete(corpus_dir):
    blocks = _blocks(imported.blocks_file, imported.embeddings)
    corpus_files.write(
      corpus_files.cut(blocks, tokenizer, None, num_workers),
      corpus_dir,
      tokenizer,
      source={'blocks': imported.blocks_file},
      max_block_wordpieces=config.lengths.block_tokens,
    )
    written.append(corpus_dir)
  if imported.embeddings is not None:
    embedder = loaded, config, model
    written += _write_index(
      imported.embeddings, *embedder, output_dir, corpus_dir, tokenizer
    )
  # The last: without them, the same import may run again.
  arrays = dict(sorted(imported.arrays.items()))
  return [model_files.publish(output_dir, _STEP, arrays).path, *written]


def _write_index(
  rows: hugging_face_files.Rows | np.ndarray,
  loaded: weights.LoadReport,
  config: config_lib.ExperimentConfig,
  model: realm_model.RealmModel,
  output_dir: str,
  corpus_dir: str,
  tokenizer: wordpiece.WordpieceTokenizer,
) -> list[str]:
  """Writes the index of a corpus, if there is one; returns its path.

  Raises UserError unless rows fit a whole embedder and the corpus.
  """
  if not manifests.is_complete(corpus_dir):
    logging.info(
      'Wrote no index: an index needs the texts of its blocks. Give --blocks, '
      'or their corpus as --corpus_dir.'
    )
    return []
  missing = [
    name
    for name in loaded.missing
    if name.startswith(realm_model.EMBEDDER_PREFIXES)
  ]
  realm_model.require_parts(
    loaded._replace(missing=missing), 'The source of the index'
  )
  table = block_table.BlockTable.open(corpus_dir, verify=True)
  if table.num_blocks != len(rows):
    raise _other_number(len(rows), table.num_blocks, corpus_dir)
  model_files.check_vocabulary(output_dir, tokenizer, table)
  size = config.model.embedder.embedding_size
  if rows.shape[1:] != (size,):
    raise errors.UserError(
      f'The rows of block_emb must have the width of the embedder, {size}. '
      f'Found shape {rows.shape}. Give the embedder of this index.'
    )
  builder = index_builder.IndexBuilder(
    table, config, tokenizer.special_ids, tokenizer.mask_id, model
  )
  root = layout.index_root(output_dir)
  builder.build(_STEP, root, embeddings=rows)
  return [versions.version_path(root, _STEP)]


def _check_vocabulary(
  model: config_lib.ModelConfig,
  tokenizer: wordpiece.WordpieceTokenizer,
  vocab_file: str,
) -> None:
  """Raises UserError unless vocabulary and word embeddings have one size."""
  for bert in (model.embedder_bert, model.reader_bert):
    if not 0 <= bert.vocab_size - tokenizer.vocab_size < _MAX_PADDING:
      raise errors.UserError(
        f'The vocabulary must fit the weights. Found {bert.vocab_size} word '
        f'embeddings and {tokenizer.vocab_size} lines in {vocab_file}. Give '
        'the right --vocab_file.'
      )


def _blocks(
  path: str, rows: hugging_face_files.Rows | np.ndarray | None
) -> Iterator[sources.Article]:
  """Yields the blocks; UserError at the end unless each has a row."""
  count = 0
  for article in block_texts.read(path):
    count += 1
    yield article
  if rows is not None and count != len(rows):
    raise _other_number(len(rows), count, path)


def _other_number(rows: int, count: int, where: str) -> errors.UserError:
  return errors.UserError(
    f'Each block must have a row of block_emb. Found {rows} rows and {count} '
    f'blocks in {where}. Give the embedded blocks as --blocks.'
  )


def fit_lengths(
  imported: imported_lib.Imported, tokenizer: wordpiece.WordpieceTokenizer
) -> config_lib.ExperimentConfig:
  """Returns the paper's config with lengths that the model can read."""
  settings = imported.settings
  embedder = dataclasses.replace(
    imported.model.embedder,
    query_prompt=_ids(settings.query_prompt, tokenizer),
    block_prompt=_ids(settings.block_prompt, tokenizer),
  )
  model = dataclasses.replace(imported.model, embedder=embedder)
  positions = min(
    model.embedder_bert.max_positions, model.reader_bert.max_positions
  )
  longest = min(positions, settings.max_length or positions)
  lengths = config_lib.LengthConfig()
  block_tokens = _room(lengths.block_tokens, longest, embedder.block_prompt)
  joint_tokens = min(lengths.joint_tokens, positions)
  # Some queries are paragraphs.
  left = max(lengths.query_tokens, joint_tokens - block_tokens)
  query_tokens = _room(left, longest, embedder.query_prompt)
  if joint_tokens < lengths.joint_tokens:
    query_tokens = min(query_tokens, joint_tokens // 2)
  return config_lib.ExperimentConfig(
    model=model,
    lengths=config_lib.LengthConfig(
      query_tokens=query_tokens,
      block_tokens=block_tokens,
      joint_tokens=joint_tokens,
      question_tokens=min(lengths.question_tokens, query_tokens),
      title_tokens=min(lengths.title_tokens, block_tokens // 4),
    ),
    finetuning=dataclasses.replace(
      imported.finetuning,
      joint_tokens=min(imported.finetuning.joint_tokens, positions),
    ),
  )


def _room(tokens: int, longest: int, prompt: str) -> int:
  """Returns the maximum length of a text after a prompt."""
  room = longest - len(prompt.split())
  if room < _MIN_TOKENS:
    raise errors.UserError(
      f'A model must take texts of {_MIN_TOKENS} wordpieces. Found a maximal '
      f'length of {longest}, prompt included, which leaves {room}. Choose '
      'another model.'
    )
  return min(tokens, room)


def _ids(text: str, tokenizer: wordpiece.WordpieceTokenizer) -> str:
  """Returns a prompt's wordpiece ids, separated by spaces."""
  if not text.strip():
    return ''
  alone, *parts = tokenizer.token_ids_batch(
    [text, *_FOLLOWING, *(text + following for following in _FOLLOWING)]
  )
  number = len(_FOLLOWING)
  for following, joined in zip(parts[:number], parts[number:], strict=True):
    if [*alone, *following] != [*joined]:
      raise errors.UserError(
        'A prompt must end with a space or a mark. Found '
        f'{text!r} in config_sentence_transformers.json, whose last word would '
        'grow by the text after it. Choose another model.'
      )
  return ' '.join(map(str, alone))
