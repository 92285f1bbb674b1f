"""Fits prompts and lengths of texts to an imported model."""

import dataclasses

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.importing import imported as imported_lib
from realm_tf.text import wordpiece

_MIN_TOKENS = 5  # [CLS] title [SEP] body [SEP].
# Sample texts, to check that a prompt's last word does not grow by a text.
_FOLLOWING = 'a', '1'


def fit(
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
