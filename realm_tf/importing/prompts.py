"""Turns the prompts of an imported model into wordpieces of its config.

settings, vocabulary, config -> [this file] -> config with prompts and lengths
"""

import dataclasses

from realm_tf import errors
from realm_tf.importing import imported as imported_lib
from realm_tf.text import wordpiece

# Texts that may follow a prompt, to see that it ends where they begin.
_FOLLOWING = 'a', '1'


def apply(
  imported: imported_lib.Imported, tokenizer: wordpiece.WordpieceTokenizer
) -> imported_lib.Imported:
  """Returns the model with its prompts, and lengths that leave room for them.

  Raises:
    UserError: A prompt and the text behind it would be one word, or there is no
      room for a text.
  """
  settings, config = imported.settings, imported.config
  embedder = dataclasses.replace(
    config.model.embedder,
    query_prompt=_ids(settings.query_prompt, tokenizer),
    block_prompt=_ids(settings.block_prompt, tokenizer),
  )
  model = dataclasses.replace(config.model, embedder=embedder)
  sized = imported_lib.experiment_config(
    model, config.finetuning, settings.max_length
  )
  return imported._replace(
    config=dataclasses.replace(config, model=model, lengths=sized.lengths)
  )


def _ids(text: str, tokenizer) -> str:
  """Returns a prompt's wordpieces as `EmbedderConfig` has them."""
  if not text.strip():
    return ''
  alone, *parts = tokenizer.token_ids_batch(
    [text, *_FOLLOWING, *(text + following for following in _FOLLOWING)]
  )
  for following, joined in zip(
    parts[: len(_FOLLOWING)], parts[len(_FOLLOWING) :]
  ):
    if [*alone, *following] != [*joined]:
      raise errors.UserError(
        'A prompt must end with a space or a mark. Found '
        f'{text!r} in config_sentence_transformers.json, whose last word would '
        'grow by the text behind it. Choose another model.'
      )
  return ' '.join(map(str, alone))
