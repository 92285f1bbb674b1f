"""Words of a text in any script, for searches and measures by words.

Marks, such as vowel signs of Hindi, belong to their words. Scripts without
spaces between words (Han, kana, Thai, Lao, Khmer, Burmese) give letters or
pairs of letters; so does Korean, whose particles follow a word without a space.
Wide, narrow and joined letters are as the plain ones, and digits as 0 to 9.
"""

import re
import unicodedata

import regex

from realm_tf.text import plain_letters

_SCRIPTS = ('Han', 'Hiragana', 'Katakana', 'Hangul', 'Thai', 'Lao', 'Khmer',
            'Myanmar')  # fmt: skip
# A letter with its marks; the sign of a long vowel belongs to two scripts.
_LETTER = (
  '(?:[' + ''.join(rf'\p{{{name}}}' for name in _SCRIPTS) + r'ー]'
  r'(?<=[\p{L}\p{M}\p{N}])\p{M}*)'
)
_LETTERS = regex.compile(_LETTER)
_RUNS = regex.compile(f'{_LETTER}+')
_ASCII_WORDS = re.compile(r'[^\W_]+')
_WORDS = regex.compile(rf'{_LETTER}|(?:(?!{_LETTER})[\p{{L}}\p{{M}}\p{{N}}])+')
# Signs that Arabic and Hebrew mostly leave out: vowels, accents, tatweel.
_OPTIONAL = re.compile('[\u0591-\u05bd\u05bf-\u05c7\u0640\u064b-\u0652\u0670]')
# Wide, narrow, joined and lowered forms of other characters; other digits.
_FORMS = regex.compile(
  r'[\u0e33\u0eb3\u2080-\u2089\ufb00-\ufdff\ufe70-\ufefc\uff01-\uffef'
  r'[\p{Nd}--[0-9]]]+',
  regex.VERSION1,
)
_NOT_WORDS = regex.compile(r'[^\p{L}\p{M}\p{N}_]+')
_ASCII_SPACES = {c: ' ' for c in range(128) if re.match(r'\W', chr(c))}


def split(text: str) -> list[str]:
  """Returns words in small letters, composed (NFC); letters without spaces."""
  if text.isascii():
    return _ASCII_WORDS.findall(text.lower())
  return _WORDS.findall(_composed(text).lower())


def spaced_letters(text: str) -> str:
  """Returns the text with spaces around letters of scripts without spaces."""
  if text.isascii():
    return text
  return _LETTERS.sub(lambda found: f' {found[0]} ', _composed(text))


def spaced_pairs(text: str) -> str:
  """Returns words between spaces; runs of such letters as pairs of neighbours.

  A single letter gets '_', because searches ignore words of one character.
  """
  if text.isascii():
    return text.translate(_ASCII_SPACES)
  return _RUNS.sub(_pairs, _NOT_WORDS.sub(' ', _composed(text)))


def _composed(text: str) -> str:
  text = _FORMS.sub(_plain, text)
  return _OPTIONAL.sub('', plain_letters.normalize('NFC', text))


def _plain(forms: regex.Match[str]) -> str:
  plain = unicodedata.normalize('NFKC', forms[0])
  return ''.join(str(unicodedata.decimal(c, c)) for c in plain)


def _pairs(run: regex.Match[str]) -> str:
  letters = _LETTERS.findall(run[0])
  pairs = map(''.join, zip(letters, letters[1:]))
  return f' {" ".join(pairs) or letters[0] + "_"} '
