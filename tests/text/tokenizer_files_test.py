"""Tests for realm_tf.text.tokenizer_files, vocabulary and sentencepieces."""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.text import character_table
from realm_tf.text import sentencepieces
from realm_tf.text import tokenizer_files
from realm_tf.text import wordpiece
from tests import sentencepiece_model

_PIECES = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', 'The', 'the', 'é', 'e']
_CASED = character_table.CharacterRules(lowercase=False, strip_accents=False)
_TEXT = 'The é'


def _json(**changes):
  """Returns tokenizer.json with changes, given by section."""
  found = {
    'added_tokens': [{'id': 3, 'content': '[SEP]', 'special': True}],
    'normalizer': {'type': 'BertNormalizer', 'lowercase': True},
    'pre_tokenizer': {'type': 'BertPreTokenizer'},
    'model': {
      'type': 'WordPiece',
      'unk_token': '[UNK]',
      'vocab': {piece: i for i, piece in enumerate(_PIECES)},
    },
  }
  for name, change in changes.items():
    found[name] = (
      {**found.get(name, {}), **change} if isinstance(change, dict) else change
    )
  return json.dumps(found)


class TokenizerFilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path

  def _write(self, **files):
    """Writes files (vocab_txt: vocab.txt); returns the vocabulary's path."""
    for name, content in files.items():
      path = os.path.join(self.folder, '.'.join(name.rsplit('_', 1)))
      data = content if isinstance(content, bytes) else content.encode()
      with open(path, 'wb') as file:
        file.write(data)
    return tokenizer_files.find(self.folder)

  def _pieces(self, **files):
    path = self._write(**files)
    tokenizer = wordpiece.WordpieceTokenizer.from_file(path)
    return [_PIECES[i] for i in tokenizer.tokenize(_TEXT).ids]

  @parameterized.parameters(
    (None, None, ['the', 'e']),
    ({'do_lower_case': False}, None, ['The', 'é']),
    ({'strip_accents': False}, None, ['the', 'é']),
    ({'strip_accents': None}, None, ['the', 'e']),
    ({'do_lower_case': False, 'strip_accents': True}, None, ['The', 'e']),
    (None, {'lowercase': False}, ['The', 'é']),
    ({'do_lower_case': True}, {'lowercase': False}, ['the', 'e']),
    (
      {'model_max_length': 8, 'unk_token': {'content': '[UNK]'}},
      {'lowercase': False},
      ['The', 'é'],
    ),
  )
  def test_rules_are_read(self, config, normalizer, expected):
    files = {}
    if config is not None:
      files['tokenizer_config_json'] = json.dumps(config)
    if normalizer is not None:
      files['tokenizer_json'] = _json(normalizer=normalizer)
      self.assertEqual(self._pieces(**files), expected)
    files['vocab_txt'] = '\n'.join(_PIECES)
    self.assertEqual(self._pieces(**files), expected)

  @parameterized.named_parameters(
    ('default', character_table.UNCASED),
    ('cased', _CASED),
    ('all_else', character_table.CharacterRules(True, False, False, False)),
  )
  def test_read_inverts_write(self, rules):
    tokenizer_files.write(self.folder, _PIECES, rules)
    path = tokenizer_files.find(self.folder)
    self.assertEqual(tokenizer_files.read(path), (_PIECES, rules))
    self.assertLen(
      os.listdir(self.folder), 1 + (rules != character_table.UNCASED)
    )
    tokenizer_files.write_hugging_face(self.folder, _PIECES, rules, 512)
    self.assertEqual(tokenizer_files.read(path), (_PIECES, rules))
    os.remove(path)
    path = tokenizer_files.find(self.folder)
    self.assertEqual(tokenizer_files.read(path), (_PIECES, rules))

  def test_fingerprints_are_of_pieces_and_rules(self):
    uncased, cased, other = (
      wordpiece.WordpieceTokenizer(_PIECES, rules).vocabulary_sha256
      for rules in (
        character_table.UNCASED,
        _CASED,
        character_table.CharacterRules(split_chinese=False),
      )
    )
    self.assertLen({uncased, cased, other}, 3)

  @parameterized.parameters(
    ({'model': {'type': 'BPE'}}, "'BPE' - at `.*type`"),
    ({'model': {'merges': []}}, 'model.merges'),
    ({'model': {'continuing_subword_prefix': '@@'}}, '@@'),
    ({'model': {'max_input_chars_per_word': 50}}, '50'),
    ({'model': {'unk_token': '<unk>'}}, '<unk>'),
    ({'model': {'vocab': {'[PAD]': 0, 'a': 2}}}, 'with id 1'),
    ({'model': {'vocab': {'[PAD]': 0, 'a': 0}}}, 'with id 1'),
    ({'model': {'vocab': {'[PAD]': '0'}}}, 'model.vocab'),
    ({'model': {'vocab': [['[PAD]', 0]]}}, 'model.vocab'),
    ({'model': {'vocab': {'[PAD]': -1}}}, 'with id 0'),
    ({'model': {'vocab': {}}}, 'nothing'),
    ({'model': {'vocab': {'[PAD]': 0, 'a\n': 1}}}, 'line breaks'),
    ({'normalizer': {'type': 'NFKC'}}, 'NFKC'),
    ({'normalizer': None}, 'object`, .* `.*normalizer'),
    ({'pre_tokenizer': {'type': 'Whitespace'}}, 'Whitespace'),
    ({'normalizer': {'lowercase': 'no'}}, 'bool .*lowercase'),
    (
      {'added_tokens': [{'id': 9, 'content': 'covid', 'special': True}]},
      'covid',
    ),
    ({'added_tokens': [{'id': 5, 'content': 'The', 'special': False}]}, 'The'),
    ({'added_tokens': [7]}, r'added_tokens\[0\]'),
    ({'post_processor': {'type': 'RobertaProcessing'}}, 'Roberta'),
  )
  def test_other_tokenizers_are_refused(self, changes, message):
    path = self._write(tokenizer_json=_json(**changes))
    with self.assertRaisesRegex(errors.UserError, message):
      tokenizer_files.read(path)

  @parameterized.parameters(
    ({'tokenizer_json': '{'}, 'must be JSON'),
    ({'tokenizer_config_json': '[]'}, 'a JSON object'),
    (
      {'tokenizer_config_json': '{"tokenizer_class": "BertJapaneseTokenizer"}'},
      'BertJapaneseTokenizer',
    ),
    ({'tokenizer_config_json': '{"unk_token": {"content": "<unk>"}}'}, '<unk>'),
    ({'tokenizer_config_json': '{"do_lower_case": 0}'}, 'bool .*do_lower'),
    (
      {
        'tokenizer_json': _json(
          model={'vocab': {s: i for i, s in enumerate(_PIECES[:-1])}}
        )
      },
      'Found 9 and 8',
    ),
    ({'vocab_txt': 'caf\xe9'.encode('latin-1')}, 'not UTF-8'),
    ({'vocab_txt': '[PAD]'.encode('utf-16')}, 'UTF-16'),
    ({'vocab_txt': '[PAD]\n\na'}, 'line 2: empty'),
    ({'vocab_txt': '{"[PAD]": 0, ' + 'x' * 1000}, r'x{27}\'\.'),
  )
  def test_broken_files_are_refused(self, files, message):
    path = self._write(**{'vocab_txt': '\n'.join(_PIECES), **files})
    with self.assertRaisesRegex(errors.UserError, message):
      tokenizer_files.read(path)

  @parameterized.named_parameters(
    ('mark', '\ufeff' + '\n'.join(_PIECES)),
    ('windows', '\r\n'.join(_PIECES) + '\r\n'),
    ('no_last_break', '\n'.join(_PIECES)),
  )
  def test_lines_are_pieces(self, text):
    self.assertEqual(
      tokenizer_files.read(self._write(vocab_txt=text))[0], _PIECES
    )

  def test_unicode_separators_end_no_line(self):
    pieces = [*_PIECES, '\u2028', '\x85', 'a b', '##', '##.', 'x' * 300]
    path = self._write(vocab_txt='\n'.join(pieces))
    tokenizer = wordpiece.WordpieceTokenizer.from_file(path)
    self.assertEqual(tokenizer.vocabulary, tuple(pieces))
    text = 'the\u2028e\x85 a b the## e. ' + 'x' * 300
    ids = [pieces.index(piece) for piece in ('the', 'e')]
    unknown = tokenizer.unk_id
    self.assertEqual(
      tokenizer.tokenize(text).ids.tolist(),
      [*ids, *[unknown] * 2, ids[0], *[unknown] * 2, ids[1], *[unknown] * 2],
    )

  def test_piece_of_many_bytes_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, 'at most 256 bytes'):
      wordpiece.WordpieceTokenizer(
        [*_PIECES, *map(chr, range(0xAC00, 0xB000)), '\uaffe' * 100]
      )


_WORDS = 'A', 'b', 'cd'


class SentencepiecesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.model = sentencepiece_model.model(_WORDS)
    self.tokenizer = sentencepieces.SentencepieceTokenizer(self.model)

  def test_words_are_pieces_and_case_counts(self):
    first, second = self.tokenizer.token_ids_batch(['A b cd', 'a'])
    self.assertEqual(first.tolist(), [3, 4, 5])
    self.assertNotIn(3, second.tolist())
    self.assertEqual(self.tokenizer.token_ids_batch([]), [])
    # T5's start and end.
    self.assertEqual(self.tokenizer.special_ids, (0, 1))
    self.assertEqual(self.tokenizer.vocab_size, 3 + len(_WORDS))

  def test_text_comes_back(self):
    self.assertEqual(self.tokenizer.detokenize([3, 5]), 'A cd')
    # T5 has more embeddings than pieces.
    self.assertEqual(self.tokenizer.detokenize([4, 6, 99]), 'b')
    self.assertEqual(self.tokenizer.detokenize([]), '')

  def test_another_file_is_a_user_error(self):
    path = os.path.join(self.create_tempdir().full_path, 'spiece.model')
    with open(path, 'wb') as file:
      file.write(b'not a model')
    with self.assertRaisesRegex(errors.UserError, 'spiece.model must be'):
      sentencepieces.SentencepieceTokenizer.from_file(path)


if __name__ == '__main__':
  absltest.main()
