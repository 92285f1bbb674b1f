"""Words of a text in any script, for searches and measures by words.

Marks, such as vowel signs of Hindi, belong to their words. Scripts without
spaces between words (Han, kana, Thai, Lao, Khmer, Burmese) give letters or
pairs of letters; so does Korean, whose particles follow a word without a space.
"""

import functools
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
_LAST_MARK = 0x1F000  # Beyond are variants of letters only.


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
  """Returns the text with each run of such letters as pairs of neighbours.

  A single letter gets '_', because searches ignore words of one character.
  """
  return text if text.isascii() else _RUNS.sub(_pairs, _composed(text))


def _composed(text: str) -> str:
  return _OPTIONAL.sub('', plain_letters.normalize('NFC', text))


def _pairs(run: regex.Match[str]) -> str:
  letters = _LETTERS.findall(run[0])
  pairs = map(''.join, zip(letters, letters[1:]))
  return f' {" ".join(pairs) or letters[0] + "_"} '


@functools.cache
def marks() -> str:
  """Returns all marks as ranges of a character class of `re`."""
  codes = {
    code
    for code in range(_LAST_MARK)
    if unicodedata.category(chr(code)).startswith('M')
  }
  firsts = sorted(code for code in codes if code - 1 not in codes)
  lasts = sorted(code for code in codes if code + 1 not in codes)
  return ''.join(
    f'{chr(first)}-{chr(last)}'
    for first, last in zip(firsts, lasts, strict=True)
  )
