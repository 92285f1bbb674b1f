"""Opens a model directory and a corpus for answering."""

import dataclasses
from typing import NamedTuple, Optional

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.answering import answerer as answerer_lib
from realm_tf.index import index_plan
from realm_tf.index import storage
from realm_tf.modeling import realm_model
from realm_tf.modeling import weights
from realm_tf.records import block_table
from realm_tf.records import joining
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.rundir import layout
from realm_tf.rundir import model_directory
from realm_tf.rundir import versions
from realm_tf.text import wordpiece


class Loaded(NamedTuple):
  """A model directory, opened.

  Attributes:
    config: It was trained with.
    tokenizer: With its vocabulary.
    table: The corpus.
    retriever: Over the index.
    model: With the EMBEDDER part, and SPAN if the parameters have it.
    has_reader: Whether they do.
  """

  config: config_lib.ExperimentConfig
  tokenizer: wordpiece.WordpieceTokenizer
  table: block_table.BlockTable
  retriever: retriever_lib.Retriever
  model: realm_model.RealmModel
  has_reader: bool


def load(
  model_dir: str, corpus_dir: str, index_dir: Optional[str] = None
) -> Loaded:
  """Opens the newest parameters with an index of the corpus.

  Args:
    model_dir: Of a training job or an import.
    corpus_dir: To search.
    index_dir: An index version, or a directory of them; by default the model
      directory's own newest.

  Raises:
    UserError: Something is missing, damaged, or does not belong together.
  """
  directory = model_directory.open_directory(model_dir)
  table = block_table.BlockTable.open(corpus_dir)
  tokenizer = wordpiece.WordpieceTokenizer.from_file(
    layout.vocab_file(model_dir)
  )
  model_directory.check_vocabulary(
    model_dir, tokenizer.vocabulary_sha256, table.manifest
  )
  versions.verify(directory.params.path)
  arrays = weights.read(layout.params_file(directory.params.path))
  has_reader = any(name.startswith('span_reader/') for name in arrays)
  parts = [realm_model.EMBEDDER] + [realm_model.SPAN] * has_reader
  model = realm_model.RealmModel(directory.config.model, parts)
  realm_model.require_parts(model.load(arrays), directory.params.path)
  special_ids = tokenizer.cls_id, tokenizer.sep_id
  embed = retriever_lib.query_embedding_function(
    model, directory.config.lengths, special_ids
  )
  index = storage.load(
    _index_path(index_dir, model_dir, directory.index),
    table.manifest['corpus_fingerprint'],
  )
  _check_same_tower(index, model)
  return Loaded(
    directory.config,
    tokenizer,
    table,
    retriever_lib.Retriever(embed, index.searcher),
    model,
    has_reader,
  )


def load_answerer(
  model_dir: str,
  corpus_dir: str,
  index_dir: Optional[str] = None,
  num_read: Optional[int] = None,
) -> answerer_lib.Answerer:
  """Opens a QA model; see `load`.

  Args:
    model_dir: From fine-tuning.
    corpus_dir: To search.
    index_dir: See `load`.
    num_read: Blocks to read instead of the config's number.

  Returns:
    The answerer; without a `reader` if the model has no span reader.

  Raises:
    UserError: See `load`.
  """
  loaded = load(model_dir, corpus_dir, index_dir)
  finetuning = loaded.config.finetuning
  if num_read:
    finetuning = dataclasses.replace(
      finetuning,
      num_read=num_read,
      num_searched=max(num_read, finetuning.num_searched),
    )
  special_ids = loaded.tokenizer.cls_id, loaded.tokenizer.sep_id
  reader = (
    reading_function(loaded.model, special_ids, finetuning.joint_tokens)
    if loaded.has_reader
    else None
  )
  return answerer_lib.Answerer(
    loaded.tokenizer,
    loaded.table,
    loaded.retriever,
    reader,
    loaded.config.lengths,
    finetuning,
  )


def reading_function(
  model: realm_model.RealmModel, special_ids: tuple[int, int], joint_tokens: int
) -> answerer_lib.Reader:
  """Returns the compiled reader of `answerer.Answerer`.

  Args:
    model: With the SPAN part.
    special_ids: The vocabulary's [CLS] and [SEP].
    joint_tokens: Longest [CLS] question [SEP] body [SEP].
  """

  @tf.function
  def read(question_ids, body_ids, retrieval_scores):
    joint = joining.pack_pairs(
      question_ids, body_ids, *special_ids, joint_tokens
    )
    spans = model.span_reader(joint, body_ids.shape[2])
    return spans + retrieval_scores[:, :, None, None]

  return lambda *arrays: read(*map(tf.constant, arrays)).numpy()


def _index_path(index_dir, model_dir, own):
  """Returns the path of the index version to use."""
  if index_dir:
    if versions.is_complete(index_dir):
      return index_dir
    newest = versions.newest(index_dir)
    if newest is None:
      raise errors.UserError(
        f'--index_dir must hold an index version. Found none in {index_dir}.'
        ' Build one with bin.build_index.'
      )
    return newest.path
  if own is None:
    raise errors.UserError(
      f'A model directory must hold an index to answer with. Found none in '
      f'{layout.index_root(model_dir)}. Build one with bin.build_index and '
      'give it as --index_dir.'
    )
  return own.path


def _check_same_tower(index, model):
  """Raises UserError if blocks were embedded with another tower."""
  expected = index_plan.embedder_fingerprint(model)
  if index.manifest['embedder_fingerprint'] != expected:
    raise errors.UserError(
      f"An index must be embedded with the model's own parameters. Found "
      f'{index.path}, embedded with others. Build it again with '
      'bin.build_index.'
    )
