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


def export(model_dir: str, output_dir: str) -> list[str]:
  """Writes the modules; replaces those that are there.

  Args:
    model_dir: Directory of a training job or an import.

  Returns:
    Their directories.

  Raises:
    UserError: The model directory has no encoder, or is damaged.
  """
  opened = model_files.open_model(
    model_dir,
    [],
    optional=[realm_model.EMBEDDER, realm_model.MASKED_LM, realm_model.SPAN],
  )
  if not opened.parts:
    raise errors.UserError(
      '--model_dir must hold an embedder or a reader. Found neither in '
      f'{opened.params.path}. Train or import one.'
    )
  source = hub_modules.Source(
    opened.model,
    opened.tokenizer,
    opened.config.lengths,
    layout.vocab_file(model_dir),
  )
  return [
    _write(name, module, source, opened, output_dir)
    for name, module in _modules(source, opened.parts)
  ]


def _modules(source, parts):
  """Yields names and modules."""
  if realm_model.EMBEDDER in parts:
    yield 'query_embedder', hub_embedders.query_embedder(source)
    yield 'block_embedder', hub_embedders.block_embedder(source)
  has_masked_lm = realm_model.MASKED_LM in parts
  if has_masked_lm or realm_model.SPAN in parts:
    yield (
      'knowledge_encoder',
      hub_knowledge_encoder.knowledge_encoder(source, has_masked_lm),
    )


def _write(name, module, source, opened, output_dir):
  path = os.path.join(output_dir, name)
  trackable, signatures = module
  tf.saved_model.save(trackable, path, signatures)
  card = hub_cards.card(
    name, source.model.config, source.lengths, 'mlm' in signatures
  )
  origin = f'Step {opened.params.step} of `{opened.path}`.'
  with tf.io.gfile.GFile(os.path.join(path, 'README.md'), 'w') as file:
    file.write(f'{card}\n## Origin\n\n{origin}\n')
  return path
