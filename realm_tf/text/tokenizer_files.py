"""Reads and writes a tokenizer's pieces and rules, in Hugging Face's files.

Files: vocab.txt, tokenizer.json, tokenizer_config.json. The default is uncased.
"""

from collections.abc import Sequence
import json
import os
from typing import Any, Optional

import tensorflow as tf

from realm_tf import errors
from realm_tf import json_text
from realm_tf.text import character_rules
from realm_tf.text import tokenizer_json
from realm_tf.text import vocabulary
from realm_tf.text.vocabulary import refusal

_VOCABULARY = 'vocab.txt'
_JSON = 'tokenizer.json'
_CONFIG = 'tokenizer_config.json'
_SPECIALS_MAP = 'special_tokens_map.json'
# Key of tokenizer_config.json -> key of tokenizer.json's normalizer.
_KEYS = {
  'do_lower_case': 'lowercase',
  'strip_accents': 'strip_accents',
  'tokenize_chinese_chars': 'handle_chinese_chars',
  'clean_text': 'clean_text',  # Our key; transformers ignores it.
}
# Key of tokenizer_config.json -> its special piece.
_PIECES = {
  f'{special[1:-1].lower()}_token': special for special in vocabulary.SPECIALS
}
_VALUES = {
  'word_tokenizer_type': 'basic',
  'subword_tokenizer_type': 'wordpiece',
  **_PIECES,
}
_CLASS = 'BertTokenizer'
# Classes that tokenize as BERT does, without the suffix Fast.
_CLASSES = {
  name + 'Tokenizer'
  for name in (
    'Bert ConvBert DPRContextEncoder DPRQuestionEncoder DPRReader DistilBert '
    'Electra LayoutLM MobileBert PreTrained Realm RetriBert SqueezeBert'
  ).split()
} | {'TokenizersBackend'}


def find(directory: str) -> Optional[str]:
  """Returns the path of a directory's vocabulary; None if it has none."""
  for name in (_VOCABULARY, _JSON):
    path = os.path.join(directory, name)
    if tf.io.gfile.exists(path):
      return path
  return None


def read(path: str) -> tuple[list[str], character_rules.CharacterRules]:
  """Returns the pieces of a file, and the rules of its directory.

  `path` is a tokenizer.json if it ends in .json, else a vocab.txt. As in
  transformers, tokenizer_config.json overrides tokenizer.json.
  """
  directory = os.path.dirname(path)
  is_json = path.endswith('.json')
  json_path = path if is_json else os.path.join(directory, _JSON)
  pieces = [] if is_json else vocabulary.read(path)
  normalizer: dict[str, Any] = {}
  if is_json or tf.io.gfile.exists(json_path):
    text = vocabulary.read_bytes(json_path)
    found, normalizer = tokenizer_json.parse(text, json_path)
    if pieces and pieces != found:
      raise errors.UserError(
        f'{path} and {json_path} must have the same pieces. Found '
        f'{len(pieces)} and {len(found)}, and they differ. Remove the wrong '
        'file.'
      )
    pieces = found
  config_path = os.path.join(directory, _CONFIG)
  if tf.io.gfile.exists(config_path):
    text = vocabulary.read_bytes(config_path)
    config = json_text.parse_object(text, config_path)
    _check_config(config, config_path)
    normalizer |= _normalizer(config)
  return pieces, _rules(normalizer, config_path, json_path)


def write(
  directory: str, pieces: Sequence[str], rules: character_rules.CharacterRules
) -> None:
  """Writes or replaces vocab.txt, and the rules unless they are the default."""
  _write_lines(directory, pieces)
  path = os.path.join(directory, _CONFIG)
  if rules != character_rules.UNCASED:
    _write_json(path, _config(rules))
  elif tf.io.gfile.exists(path):
    tf.io.gfile.remove(path)


def copy(vocab_file: str, directory: str) -> None:
  """Copies the pieces and rules of `vocab_file` to a directory."""
  write(directory, *read(vocab_file))


def write_hugging_face(
  directory: str,
  pieces: Sequence[str],
  rules: character_rules.CharacterRules,
  max_length: int,
) -> None:
  """Writes all files that transformers needs for the same tokenizer."""
  _write_lines(directory, pieces)
  config = _config(rules)
  normalizer = {'clean_text': rules.clean_text} | _normalizer(config)
  for name, value in (
    (_JSON, tokenizer_json.build(pieces, normalizer)),
    (_CONFIG, {**config, **_PIECES, 'model_max_length': max_length}),
    (_SPECIALS_MAP, _PIECES),
  ):
    _write_json(os.path.join(directory, name), value)


def _normalizer(config: dict[str, Any]) -> dict[str, Any]:
  """Renames the settings of tokenizer_config.json to tokenizer.json's keys."""
  return {_KEYS[key]: config[key] for key in _KEYS if key in config}


def _config(rules: character_rules.CharacterRules) -> dict[str, Any]:
  config = {
    'tokenizer_class': _CLASS,
    'do_lower_case': rules.lowercase,
    'strip_accents': rules.strip_accents,
    'tokenize_chinese_chars': rules.split_chinese,
  }
  return config if rules.clean_text else {**config, 'clean_text': False}


def _check_config(config: dict[str, Any], path: str) -> None:
  """Raises UserError if tokenizer_config.json describes another tokenizer."""
  kind = config.get('tokenizer_class') or _CLASS
  if str(kind).removesuffix('Fast') not in _CLASSES:
    raise refusal(path, f'the tokenizer_class {_CLASS}', kind)
  for key, expected in _VALUES.items():
    value = config.get(key)
    value = value.get('content') if isinstance(value, dict) else value
    if value not in (None, expected):
      raise refusal(path, f'the {key} {expected}', value)


def _rules(
  normalizer: dict[str, Any], config_path: str, json_path: str
) -> character_rules.CharacterRules:
  """Returns the rules; by default lower case also strips accents."""
  values = {key: normalizer.get(key) for key in _KEYS.values()}
  for key, value in values.items():
    if value is not None and not isinstance(value, bool):
      raise refusal(f'{config_path} or {json_path}', f'a bool {key}', value)
  lowercase, strip_accents, split_chinese, clean_text = values.values()
  lowercase = lowercase is not False
  return character_rules.CharacterRules(
    lowercase,
    lowercase if strip_accents is None else strip_accents,
    split_chinese is not False,
    clean_text is not False,
  )


def _write_lines(directory: str, pieces: Sequence[str]) -> None:
  with tf.io.gfile.GFile(os.path.join(directory, _VOCABULARY), 'wb') as file:
    file.write(''.join(f'{piece}\n' for piece in pieces).encode())


def _write_json(path: str, value: Any) -> None:
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write(json.dumps(value, ensure_ascii=False, indent=2) + '\n')
