"""Hugging Face's tokenizer.json of a BERT <-> pieces and the normalizer.

Files of other tokenizers are refused: texts would get wrong ids.
"""

from collections.abc import Mapping, Sequence
from typing import Any

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
  ids = {piece: i for i, piece in enumerate(pieces)}
  if not isinstance(added, list):
    raise refusal(path, 'a list added_tokens', added)
  for token in added:
    content = token.get('content') if isinstance(token, dict) else None
    known = isinstance(content, str) and ids.get(content) == token.get('id')
    if not known or not (
      token.get('special') or content in vocabulary.SPECIALS
    ):
      raise refusal(path, 'special tokens of its vocabulary alone', token)


def _check_specials(processor: Any, path: str) -> None:
  """Raises UserError unless texts get [CLS] and [SEP]."""
  if processor is None:
    return
  kind = processor.get('type') if isinstance(processor, dict) else None
  template = build(vocabulary.SPECIALS, {})['post_processor']
  is_template = (
    kind == template['type'] and processor.get('single') == template['single']
  )
  if kind != 'BertProcessing' and not is_template:
    raise refusal(path, '[CLS] and [SEP] around each text', processor)
