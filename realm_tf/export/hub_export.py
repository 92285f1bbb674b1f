"""A model directory -> its encoders as TF Hub modules, each with a card."""

import os

import tensorflow as tf

from realm_tf import errors
from realm_tf.export import cards
from realm_tf.export import hub_encoders
from realm_tf.export import hub_modules
from realm_tf.index import model_files
from realm_tf.modeling import realm_model
from realm_tf.rundir import layout


def export(model_dir: str, output_dir: str) -> list[str]:
  """Writes each module into a directory of `output_dir`; returns the paths."""
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
  paths = []
  for name, module in _modules(opened).items():
    path = os.path.join(output_dir, name)
    module.write(path, opened.tokenizer, layout.vocab_file(model_dir))
    card = cards.of_module(
      name,
      module.example,
      module.max_length,
      list(module.describe()),
      f'Step {opened.params.step} of `{opened.path}`.',
    )
    with tf.io.gfile.GFile(os.path.join(path, 'README.md'), 'w') as file:
      file.write(card)
    paths.append(path)
  return paths


def _modules(opened: model_files.OpenModel) -> dict[str, hub_modules.Module]:
  modules = {}
  if realm_model.EMBEDDER in opened.parts:
    modules['query_embedder'] = hub_encoders.query_embedder(opened)
    modules['block_embedder'] = hub_encoders.block_embedder(opened)
  has_masked_lm = realm_model.MASKED_LM in opened.parts
  if has_masked_lm or realm_model.SPAN in opened.parts:
    modules['knowledge_encoder'] = hub_encoders.knowledge_encoder(
      opened, has_masked_lm
    )
  return modules
