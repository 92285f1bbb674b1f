"""Hugging Face's tokenizer.json of a BERT <-> pieces and the normalizer.

What is not BERT's (another model, normalizer or splitter, tokens that were
added) is refused: it would give a text other ids than the weights know.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from realm_tf import errors
from realm_tf import json_text
from realm_tf.text import character_table
from realm_tf.text import vocabulary

_UNK, _CLS, _SEP = vocabulary.SPECIALS[1:4]
_NORMALIZER = {
  'type': 'BertNormalizer',
  'clean_text': True,
  'handle_chinese_chars': True,
  'strip_accents': None,
  'lowercase': True,
}
_MODEL = {
  'type': 'WordPiece',
  'unk_token': _UNK,
  'continuing_subword_prefix': vocabulary.CONTINUATION,
  'max_input_chars_per_word': character_table.MAX_WORD,
}
_PRE_TOKENIZER = {'type': 'BertPreTokenizer'}
_ADVICE = 'Use the tokenizer of a BERT.'


def parse(text: bytes, path: str) -> tuple[list[str], dict[str, Any]]:
  """Returns the pieces by id, and the normalizer's settings.

  Args:
    text: Contents of tokenizer.json.
    path: Its name, for errors.

  Raises:
    UserError: It is not the tokenizer of a BERT.
  """
  found = json_text.parse_object(text, path, _ADVICE)
  model = _section(found, 'model', path)
  if 'merges' in model:
    raise _refusal(path, 'a WordPiece model', 'merges')
  _require(model, _MODEL, 'model', path)
  normalizer = _section(found, 'normalizer', path)
  _require(normalizer, {'type': _NORMALIZER['type']}, 'normalizer', path)
  _require(
    _section(found, 'pre_tokenizer', path), _PRE_TOKENIZER, 'splitter', path
  )
  pieces = _pieces(model.get('vocab'), path)
  vocabulary.check(pieces, path)
  _check_added(found.get('added_tokens') or [], pieces, path)
  _check_specials(found.get('post_processor'), path)
  return pieces, {**_NORMALIZER, **normalizer}


def build(
  pieces: Sequence[str], normalizer: Mapping[str, Any]
) -> dict[str, Any]:
  """Returns the contents of tokenizer.json, the inverse of `parse`."""
  ids = {piece: i for i, piece in enumerate(pieces)}
  kinds = {'single_word': False, 'lstrip': False, 'rstrip': False}
  sequences = [
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
      {
        'id': ids[s],
        'content': s,
        **kinds,
        'normalized': False,
        'special': True,
      }
      for s in sorted(vocabulary.SPECIALS, key=ids.__getitem__)
    ],
    'normalizer': {**_NORMALIZER, **normalizer},
    'pre_tokenizer': _PRE_TOKENIZER,
    'post_processor': {
      'type': 'TemplateProcessing',
      'single': [cls, sequences[0], seps[0]],
      'pair': [cls, sequences[0], seps[0], sequences[1], seps[1]],
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


def _section(found, name, path) -> dict[str, Any]:
  """Returns an object of the file; an empty one if it is left out."""
  section = found.get(name, {})
  if not isinstance(section, dict):
    raise _refusal(path, f'an object {name}', section)
  return section


def _require(section, wanted, name, path):
  """Raises UserError if a value is there and another one."""
  for key, value in wanted.items():
    if section.get(key, value) != value:
      raise _refusal(path, f'{key} {value!r} as its {name}', section[key])


def _pieces(ids: Any, path: str) -> list[str]:
  """Returns the pieces of {piece: id}, whose ids are 0, 1, 2, ..."""
  if not isinstance(ids, dict) or not all(type(i) is int for i in ids.values()):
    raise _refusal(path, 'model.vocab, the ids by piece', type(ids).__name__)
  pieces = sorted(ids, key=ids.__getitem__)
  for i, piece in enumerate(pieces):
    if ids[piece] != i:
      raise _refusal(path, f'one piece with id {i}', (piece, ids[piece]))
  return pieces


def _check_added(added, pieces, path):
  """Raises UserError if added tokens change the ids of texts."""
  ids = {piece: i for i, piece in enumerate(pieces)}
  if not isinstance(added, list):
    raise _refusal(path, 'a list added_tokens', added)
  for token in added:
    content = token.get('content') if isinstance(token, dict) else None
    known = isinstance(content, str) and ids.get(content) == token.get('id')
    if not known or not (
      token.get('special') or content in vocabulary.SPECIALS
    ):
      raise _refusal(path, 'special tokens of its vocabulary alone', token)


def _check_specials(processor, path):
  """Raises UserError unless texts are put between [CLS] and [SEP]."""
  if processor is None:
    return
  kind = processor.get('type') if isinstance(processor, dict) else None
  if kind == 'BertProcessing':
    return
  wanted = build(vocabulary.SPECIALS, {})['post_processor']
  if kind != wanted['type'] or processor.get('single') != wanted['single']:
    raise _refusal(path, '[CLS] and [SEP] around each text', processor)


def _refusal(path, wanted, found):
  return errors.UserError(
    f'{path} must have {wanted}. Found {str(found)[:80]}. {_ADVICE}'
  )
