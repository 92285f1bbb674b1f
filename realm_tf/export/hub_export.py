"""A model directory -> its encoders as TF Hub modules, each with its card.

They are query_embedder, block_embedder and knowledge_encoder, if there.
"""

import os

import tensorflow as tf

from realm_tf import errors
from realm_tf.export import hub_cards
from realm_tf.export import hub_embedders
from realm_tf.export import hub_knowledge_encoder
from realm_tf.export import hub_modules
from realm_tf.index import model_files
from realm_tf.modeling import realm_model
from realm_tf.rundir import layout
from realm_tf.rundir import model_directory
from realm_tf.text import wordpiece


def export(model_dir: str, output_dir: str) -> list[str]:
  """Writes the modules; replaces those that are there.

  Args:
    model_dir: Directory of a training job or an import.

  Returns:
    Their directories.

  Raises:
    UserError: The model directory has no encoder, or is damaged.
  """
  directory = model_directory.open_directory(model_dir)
  arrays = model_files.read_params(directory.params)
  parts = _parts(arrays)
  if not parts:
    raise errors.UserError(
      '--model_dir must hold an embedder or a reader. Found neither in '
      f'{directory.params.path}. Train or import one.'
    )
  model = realm_model.RealmModel(directory.config.model, parts)
  realm_model.require_parts(model.load(arrays), directory.params.path)
  vocab_file = layout.vocab_file(model_dir)
  source = hub_modules.Source(
    model,
    wordpiece.WordpieceTokenizer.from_file(vocab_file),
    directory.config.lengths,
    vocab_file,
  )
  return [
    _write(name, module, source, directory, output_dir)
    for name, module in _modules(source, parts)
  ]


def _parts(arrays):
  """Returns the parts that have weights."""
  has = lambda prefixes: any(name.startswith(prefixes) for name in arrays)
  parts = []
  if has(realm_model.EMBEDDER_PREFIXES):
    parts.append(realm_model.EMBEDDER)
  if has(('reader_',)):
    # The same encoder is under both heads.
    is_lm = has(('masked_lm',))
    parts.append(realm_model.MASKED_LM if is_lm else realm_model.SPAN)
  return parts


def _modules(source, parts):
  """Yields names and modules."""
  if realm_model.EMBEDDER in parts:
    yield 'query_embedder', hub_embedders.query_embedder(source)
    yield 'block_embedder', hub_embedders.block_embedder(source)
  if len(parts) > 1 or realm_model.EMBEDDER not in parts:
    has_masked_lm = realm_model.MASKED_LM in parts
    yield (
      'knowledge_encoder',
      hub_knowledge_encoder.knowledge_encoder(source, has_masked_lm),
    )


def _write(name, module, source, directory, output_dir):
  path = os.path.join(output_dir, name)
  trackable, signatures = module
  tf.saved_model.save(trackable, path, signatures)
  card = hub_cards.card(
    name, source.model.config, source.lengths, 'mlm' in signatures
  )
  origin = f'Step {directory.params.step} of `{directory.path}`.'
  with tf.io.gfile.GFile(os.path.join(path, 'README.md'), 'w') as file:
    file.write(f'{card}\n## Origin\n\n{origin}\n')
  return path
