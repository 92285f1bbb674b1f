"""Reads and writes a tokenizer's pieces and rules, in Hugging Face's files.

Files: vocab.txt, tokenizer.json, tokenizer_config.json. The default is uncased.
"""

from collections.abc import Mapping, Sequence
import json
import os
from typing import Any, Optional

import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text
from realm_tf.text import character_table
from realm_tf.text import vocabulary
from realm_tf.text.vocabulary import refusal

_UNK, _CLS, _SEP = vocabulary.SPECIALS[1:4]
_NORMALIZER: dict[str, Any] = {
  'type': 'BertNormalizer',
  'clean_text': True,
  'handle_chinese_chars': True,
  'strip_accents': None,
  'lowercase': True,
}
# Section -> required values of its optional keys.
_SECTIONS: dict[str, dict[str, Any]] = {
  'model': {
    'type': 'WordPiece',
    'unk_token': _UNK,
    'continuing_subword_prefix': vocabulary.CONTINUATION,
    'max_input_chars_per_word': character_table.MAX_WORD,
  },
  'normalizer': {'type': _NORMALIZER['type']},
  'pre_tokenizer': {'type': 'BertPreTokenizer'},
}


def parse(text: bytes, path: str) -> tuple[list[str], dict[str, Any]]:
  """Returns the pieces by id, and the normalizer's settings."""
  found = json_text.parse_object(text, path, 'Use the tokenizer of a BERT.')
  for name, required in _SECTIONS.items():
    section = found.setdefault(name, {})
    if not isinstance(section, dict):
      raise refusal(path, f'an object {name}', section)
    if 'merges' in section:
      raise refusal(path, 'a WordPiece model', 'merges')
    for key, value in required.items():
      if section.get(key, value) != value:
        raise refusal(path, f'{key} {value!r} as its {name}', section[key])
  pieces = _pieces(found['model'].get('vocab'), path)
  vocabulary.check(pieces, path)
  _check_added(found.get('added_tokens') or [], pieces, path)
  _check_specials(found.get('post_processor'), path)
  return pieces, {**_NORMALIZER, **found['normalizer']}


def build(
  pieces: Sequence[str], normalizer: Mapping[str, Any]
) -> dict[str, Any]:
  """Returns the content of tokenizer.json."""
  ids = {piece: i for i, piece in enumerate(pieces)}
  flags = {'single_word': False, 'lstrip': False, 'rstrip': False}
  flags |= {'normalized': False, 'special': True}
  texts = [
    {'Sequence': {'id': name, 'type_id': i}} for i, name in enumerate('AB')
  ]
  cls, *seps = (
    {'SpecialToken': {'id': piece, 'type_id': i}}
    for piece, i in ((_CLS, 0), (_SEP, 0), (_SEP, 1))
  )
  return {
    'version': '1.0',
    'truncation': None,
    'padding': None,
    'added_tokens': [
      {'id': ids[special], 'content': special, **flags}
      for special in sorted(vocabulary.SPECIALS, key=ids.__getitem__)
    ],
    'normalizer': {**_NORMALIZER, **normalizer},
    'pre_tokenizer': _SECTIONS['pre_tokenizer'],
    'post_processor': {
      'type': 'TemplateProcessing',
      'single': [cls, texts[0], seps[0]],
      'pair': [cls, texts[0], seps[0], texts[1], seps[1]],
      'special_tokens': {
        s: {'id': s, 'ids': [ids[s]], 'tokens': [s]} for s in (_CLS, _SEP)
      },
    },
    'decoder': {
      'type': 'WordPiece',
      'prefix': vocabulary.CONTINUATION,
      'cleanup': True,
    },
    'model': {**_SECTIONS['model'], 'vocab': ids},
  }


def _pieces(ids: Any, path: str) -> list[str]:
  """Returns the pieces by id; UserError unless ids are 0, 1, 2, ..."""
  if not isinstance(ids, dict) or not all(type(i) is int for i in ids.values()):
    raise refusal(path, 'model.vocab, the ids by piece', type(ids).__name__)
  pieces = sorted(ids, key=ids.__getitem__)
  for i, piece in enumerate(pieces):
    if ids[piece] != i:
      raise refusal(path, f'one piece with id {i}', (piece, ids[piece]))
  return pieces


def _check_added(added: Any, pieces: Sequence[str], path: str) -> None:
  if not isinstance(added, list):
    raise refusal(path, 'a list added_tokens', added)
  ids = {piece: i for i, piece in enumerate(pieces)}
  for token in added:
    fields = token if isinstance(token, dict) else {}
    piece = fields.get('content')
    known = isinstance(piece, str) and ids.get(piece) == fields.get('id')
    is_special = fields.get('special') or piece in vocabulary.SPECIALS
    if not known or not is_special:
      raise refusal(path, 'special tokens of its vocabulary alone', token)


def _check_specials(processor: Any, path: str) -> None:
  """Raises UserError unless texts get [CLS] and [SEP]."""
  fields = processor if isinstance(processor, dict) else {}
  template = build(vocabulary.SPECIALS, {})['post_processor']
  is_template = all(fields.get(k) == template[k] for k in ('type', 'single'))
  is_bert = fields.get('type') == 'BertProcessing'
  if processor is not None and not is_bert and not is_template:
    raise refusal(path, '[CLS] and [SEP] around each text', processor)


_VOCABULARY = 'vocab.txt'
_JSON = 'tokenizer.json'
_CONFIG = 'tokenizer_config.json'
_SPECIALS_MAP = 'special_tokens_map.json'
# Key of tokenizer_config.json -> key of tokenizer.json's normalizer.
_KEYS = {  # In the order of CharacterRules.
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


def read(path: str) -> tuple[list[str], character_table.CharacterRules]:
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
    text = input_files.read(json_path)
    found, normalizer = parse(text, json_path)
    if pieces and pieces != found:
      raise errors.UserError(
        f'{path} and {json_path} must have the same pieces. Found '
        f'{len(pieces)} and {len(found)}, and they differ. Remove the wrong '
        'file.'
      )
    pieces = found
  config_path = os.path.join(directory, _CONFIG)
  if tf.io.gfile.exists(config_path):
    text = input_files.read(config_path)
    config = json_text.parse_object(text, config_path)
    _check_config(config, config_path)
    normalizer |= _normalizer(config)
  return pieces, _rules(normalizer, config_path, json_path)


def write(
  directory: str, pieces: Sequence[str], rules: character_table.CharacterRules
) -> None:
  """Writes or replaces vocab.txt, and the rules unless they are the default."""
  _write_pieces(directory, pieces)
  path = os.path.join(directory, _CONFIG)
  if rules != character_table.UNCASED:
    _write_json(path, _config(rules))
  elif tf.io.gfile.exists(path):
    tf.io.gfile.remove(path)


def copy(vocab_file: str, directory: str) -> None:
  """Copies the pieces and rules of `vocab_file` to a directory."""
  write(directory, *read(vocab_file))


def write_hugging_face(
  directory: str,
  pieces: Sequence[str],
  rules: character_table.CharacterRules,
  max_length: int,
) -> None:
  """Writes all files that transformers needs for the same tokenizer."""
  _write_pieces(directory, pieces)
  config = _config(rules)
  normalizer = {'clean_text': rules.clean_text} | _normalizer(config)
  for name, value in (
    (_JSON, build(pieces, normalizer)),
    (_CONFIG, {**config, **_PIECES, 'model_max_length': max_length}),
    (_SPECIALS_MAP, _PIECES),
  ):
    _write_json(os.path.join(directory, name), value)


def _normalizer(config: dict[str, Any]) -> dict[str, Any]:
  """Renames the settings of tokenizer_config.json to tokenizer.json's keys."""
  return {_KEYS[key]: config[key] for key in _KEYS if key in config}


def _config(rules: character_table.CharacterRules) -> dict[str, Any]:
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
) -> character_table.CharacterRules:
  """Returns the rules; by default lower case also strips accents."""
  values = {key: normalizer.get(key) for key in _KEYS.values()}
  for key, value in values.items():
    if value is not None and not isinstance(value, bool):
      raise refusal(f'{config_path} or {json_path}', f'a bool {key}', value)
  lowercase, strip_accents, split_chinese, clean_text = values.values()
  strip_accents = lowercase if strip_accents is None else strip_accents
  flags = lowercase, strip_accents, split_chinese, clean_text
  return character_table.CharacterRules(*(flag is not False for flag in flags))


def _write_pieces(directory: str, pieces: Sequence[str]) -> None:
  text = ''.join(f'{piece}\n' for piece in pieces)
  json_text.replace(os.path.join(directory, _VOCABULARY), text.encode())


def _write_json(path: str, value: Any) -> None:
  text = json.dumps(value, ensure_ascii=False, indent=2) + '\n'
  json_text.replace(path, text.encode())
