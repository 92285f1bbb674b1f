"""Reads and writes a tokenizer's pieces and rules, in Hugging Face's files.

Files: vocab.txt, tokenizer.json, tokenizer_config.json. The default is uncased.
"""

from collections.abc import Mapping, Sequence
import json
import os
from typing import Any, Optional

import tensorflow as tf
from typing_extensions import NotRequired
from typing_extensions import TypedDict

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text
from realm_tf.text import character_table
from realm_tf.text import vocabulary

_UNK, _CLS, _SEP = vocabulary.SPECIALS[1:4]
_ADVICE = 'Use the tokenizer of a BERT.'
_NORMALIZER: dict[str, Any] = {
  'type': 'BertNormalizer',
  'clean_text': True,
  'handle_chinese_chars': True,
  'strip_accents': None,
  'lowercase': True,
}
_MODEL: dict[str, Any] = {
  'type': 'WordPiece',
  'unk_token': _UNK,
  'continuing_subword_prefix': vocabulary.CONTINUATION,
  'max_input_chars_per_word': character_table.MAX_WORD,
}
_PRE_TOKENIZER = {'type': 'BertPreTokenizer'}


class _AddedToken(TypedDict):
  """A token of tokenizer.json that is no part of a text."""

  id: int
  content: str
  special: NotRequired[bool]


def _only(
  values: Mapping[str, Any], *others: None
) -> dict[str, json_text.Shape]:
  """Returns fields that may be missing, each with one value or `others`."""
  return {
    name: json_text.optional(json_text.one_of(value, *others))
    for name, value in values.items()
  }


_FLAG = json_text.optional(Optional[bool])
_FIELDS = {
  'model': json_text.object_of(
    {
      **_only(_MODEL),
      'merges': json_text.optional(None),  # Of another model.
      'vocab': dict[str, int],
    }
  ),
  'normalizer': json_text.optional(
    json_text.object_of(
      dict.fromkeys(_NORMALIZER, _FLAG) | _only({'type': _NORMALIZER['type']})
    )
  ),
  'pre_tokenizer': json_text.optional(
    json_text.object_of(_only(_PRE_TOKENIZER))
  ),
  'added_tokens': json_text.optional(Optional[list[_AddedToken]]),
}


def _refusal(path: str, must: str, found: Any) -> errors.UserError:
  """Returns the error of a file of another tokenizer than BERT's."""
  return errors.UserError(
    f'{path} must have {must}. Found {found!r:.80}. {_ADVICE}'
  )


def parse(text: bytes, path: str) -> tuple[list[str], dict[str, Any]]:
  """Returns the pieces by id, and the normalizer's settings."""
  found = json_text.parse_object(text, path, _ADVICE)
  json_text.check(found, _FIELDS, path, _ADVICE)
  ids = found['model']['vocab']
  pieces = sorted(ids, key=ids.__getitem__)
  for i, piece in enumerate(pieces):
    if ids[piece] != i:
      raise _refusal(path, f'one piece with id {i}', (piece, ids[piece]))
  vocabulary.check(pieces, path)
  for token in found.get('added_tokens') or []:
    piece = token['content']
    is_special = token.get('special') or piece in vocabulary.SPECIALS
    if ids.get(piece) != token['id'] or not is_special:
      raise _refusal(path, 'special tokens of its vocabulary alone', token)
  _check_specials(found.get('post_processor'), path)
  return pieces, {**_NORMALIZER, **found.get('normalizer', {})}


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
    'pre_tokenizer': _PRE_TOKENIZER,
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
    'model': {**_MODEL, 'vocab': ids},
  }


def _check_specials(processor: Any, path: str) -> None:
  """Raises UserError unless texts get [CLS] and [SEP]."""
  fields = processor if isinstance(processor, dict) else {}
  template = build(vocabulary.SPECIALS, {})['post_processor']
  is_template = all(fields.get(k) == template[k] for k in ('type', 'single'))
  is_bert = fields.get('type') == 'BertProcessing'
  if processor is not None and not is_bert and not is_template:
    raise _refusal(path, '[CLS] and [SEP] around each text', processor)


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
# Classes that tokenize as BERT does.
_CLASSES = [
  f'{name}Tokenizer{fast}'
  for name in (
    'Bert ConvBert DPRContextEncoder DPRQuestionEncoder DPRReader DistilBert '
    'Electra LayoutLM MobileBert PreTrained Realm RetriBert SqueezeBert'
  ).split()
  for fast in ('', 'Fast')
]
_CONFIG_FIELDS = {
  'tokenizer_class': json_text.optional(
    json_text.one_of(None, 'TokenizersBackend', *_CLASSES)
  ),
  **dict.fromkeys(_KEYS, _FLAG),
  **_only({'word_tokenizer_type': 'basic'}, None),
  **_only({'subword_tokenizer_type': 'wordpiece', **_PIECES}, None),
}


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
    plain = {
      key: value.get('content') if isinstance(value, dict) else value
      for key, value in config.items()
    }
    json_text.check(plain, _CONFIG_FIELDS, config_path, _ADVICE)
    normalizer |= _normalizer(config)
  return pieces, _rules(normalizer)


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
    'tokenizer_class': _CLASSES[0],
    'do_lower_case': rules.lowercase,
    'strip_accents': rules.strip_accents,
    'tokenize_chinese_chars': rules.split_chinese,
  }
  return config if rules.clean_text else {**config, 'clean_text': False}


def _rules(normalizer: dict[str, Any]) -> character_table.CharacterRules:
  """Returns the rules; by default lower case also strips accents."""
  flags = {key: normalizer.get(key) for key in _KEYS.values()}
  if flags['strip_accents'] is None:
    flags['strip_accents'] = flags['lowercase']
  return character_table.CharacterRules(
    *(flag is not False for flag in flags.values())
  )


def _write_pieces(directory: str, pieces: Sequence[str]) -> None:
  text = ''.join(f'{piece}\n' for piece in pieces)
  json_text.replace(os.path.join(directory, _VOCABULARY), text.encode())


def _write_json(path: str, value: Any) -> None:
  text = json.dumps(value, ensure_ascii=False, indent=2) + '\n'
  json_text.replace(path, text.encode())
