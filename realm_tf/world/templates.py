"""How facts become sentences: wordings with an entity and a value filled in.

Every relation has three disjoint sets of wordings: for the statements of
articles, for pre-training sentences (X), and for questions. The sets share few
content words, so matching words is not enough to find the right block: what
the model has to learn is that "pay with" and "currency" mean the same.
"""

from collections.abc import Sequence
import re
from typing import NamedTuple

# "the United States", "the Czech Republic", "the Cayman Islands".
_TAKES_ARTICLE = re.compile(
  r'(United|Republic|Democratic|Federated|Isle|French Southern)\b.*'
  r'|.*\b(Islands|Republic|Territory|Territories|Emirates|Antilles)'
)


class Wordings(NamedTuple):
  """The wordings of one relation; '{e}' is the entity, '{v}' the value.

  Attributes:
    statements: For articles.
    sentences: For X.
    questions: For questions, without '{v}'; empty where the answer could be
      guessed without reading, so that nobody asks.
  """

  statements: tuple[str, ...]
  sentences: tuple[str, ...]
  questions: tuple[str, ...] = ()


class Filled(NamedTuple):
  """A wording with its blanks filled.

  Attributes:
    text: The sentence.
    spans: Character spans of the values, in order.
    name_spans: Character spans of the entity's name, in order.
  """

  text: str
  spans: tuple[tuple[int, int], ...]
  name_spans: tuple[tuple[int, int], ...] = ()


def fill(wording: str, entity: str, values: Sequence[str] = ()) -> Filled:
  """Fills the blanks of a wording.

  Args:
    wording: Has '{e}' and, unless it is a question, '{v}', once each.
    entity: The entity's name.
    values: One value, or several that are joined as 'A, B and C'.

  Returns:
    The text and the values' places. Names such as 'United States' get an
    article in front, which is no part of the span; the text starts with a
    capital letter.
  """
  text, spans, names = '', [], []
  for part in re.split(r'(\{[ev]\})', wording):
    if part == '{e}':
      text += with_article(entity)
      names.append((len(text) - len(entity), len(text)))
    elif part == '{v}':
      for i, value in enumerate(values):
        text += _separator(i, len(values))
        start = len(text) + len(with_article(value)) - len(value)
        text += with_article(value)
        spans.append((start, len(text)))
    else:
      text += part
  return Filled(text[:1].upper() + text[1:], tuple(spans), tuple(names))


def with_article(name: str) -> str:
  """Puts 'the' in front of a name that wants it."""
  return f'the {name}' if _TAKES_ARTICLE.fullmatch(name) else name


def _separator(index, length):
  if not index:
    return ''
  return ' and ' if index == length - 1 else ', '
