"""One refresh: a parameter version and a corpus -> an index version."""

import time

from absl import logging

from realm_tf import config as config_lib
from realm_tf.index import block_embeddings
from realm_tf.index import storage
from realm_tf.modeling import realm_model
from realm_tf.modeling import weights
from realm_tf.records import block_table
from realm_tf.rundir import layout
from realm_tf.rundir import model_directory
from realm_tf.rundir import versions
from realm_tf.text import wordpiece


class IndexBuilder:
  """Embeds one corpus again and again, with ever newer parameters.

  Args:
    table: The corpus.
    config: Of model, lengths and index; `vocab_size` set.
    special_ids: The vocabulary's [CLS] and [SEP].
  """

  def __init__(
    self,
    table: block_table.BlockTable,
    config: config_lib.ExperimentConfig,
    special_ids: tuple[int, int],
  ):
    self._table = table
    self._config = config
    self._special_ids = special_ids
    self._model = realm_model.RealmModel(config.model, [realm_model.EMBEDDER])
    self._embed = block_embeddings.compile_embedding(self._model, special_ids)

  def publish(
    self, params: versions.Version, index_root: str
  ) -> versions.Version:
    """Embeds all blocks with `params` and publishes the index of its step.

    Where the newest index has the same embeddings, they are not computed again.

    Raises:
      UserError: The parameters are damaged or lack an embedder.
    """
    begun = time.monotonic()
    versions.verify(params.path)
    realm_model.require_parts(
      self._model.load(weights.read(layout.params_file(params.path))),
      params.path,
    )
    corpus_fingerprint = self._table.manifest['corpus_fingerprint']
    embeddings = storage.find_embeddings(
      index_root, self._model, corpus_fingerprint
    )
    if embeddings is None:
      embeddings = block_embeddings.embed_blocks(
        self._embed,
        self._table,
        self._config.lengths,
        self._config.index.embed_batch_size,
      )
    version = storage.publish(
      index_root,
      params.step,
      embeddings,
      self._model,
      corpus_fingerprint,
      self._config.index,
    )
    logging.info(
      'Published %s: %d blocks in %.1f s.',
      version.path,
      len(embeddings),
      time.monotonic() - begun,
    )
    return version


def open_builder(model_dir: str, corpus_dir: str) -> IndexBuilder:
  """Returns a builder for the model of a directory and a corpus.

  Raises:
    UserError: One of them is missing, or their vocabularies differ.
  """
  directory = model_directory.open_directory(model_dir)
  table = block_table.BlockTable.open(corpus_dir)
  tokenizer = wordpiece.WordpieceTokenizer.from_file(
    layout.vocab_file(model_dir)
  )
  model_directory.check_vocabulary(
    model_dir, tokenizer.vocabulary_sha256, table.manifest
  )
  return IndexBuilder(
    table, directory.config, (tokenizer.cls_id, tokenizer.sep_id)
  )
