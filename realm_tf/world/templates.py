"""Fills an entity and a value into wordings of wordings.txt.

Every relation has separate wordings for articles, for pre-training sentences
(X) and for questions. Articles and X share few content words, so a model must
learn that "pay with" and "currency" mean the same. Questions have the parts of
forms.py; reworded questions use the words of X, so word matching finds the
article, but not its right block.
"""

from collections.abc import Sequence
import functools
import pathlib
import re
from typing import NamedTuple

from realm_tf.world import gazetteer

# "the United States", "the Czech Republic", "the Cayman Islands".
_TAKES_ARTICLE = re.compile(
  r'(United|Republic|Democratic|Federa\w+|Isle|French Southern|Kingdom)\b.*'
  r"|(People's|Central African|Russian) .*"
  r'|.*\b(Islands|Republic|Territory|Territories|Emirates)'
  r'|U\.?K\.?|U\.?S\.?A?\.?|UAE|DRC|DPRK|PRC|BVI|States|Netherlands|Gambia'
  r'|Philippines|Bahamas|Maldives|Seychelles|Comoros|Vatican|Holy See'
  r'|Falklands|Caymans|Faroes|Solomons'
)


class Wordings(NamedTuple):
  """Wordings of one relation; '{e}' is the entity, '{v}' the value.

  Attributes:
    statements: Sentences of articles.
    sentences: Sentences of X.
    nouns: Noun phrases for questions, 'dev ' or 'test ' before some; none
      where an answer is easy to guess.
    clauses: Clauses for questions, 'WH | SUBJECT | VERB | REST'.
    rewordings: Questions in the words of X.
    bridges: Descriptions of the value, for questions of two hops.
    others: Questions of another subject.
    blanks: Lists of words for the blanks of `others`.
  """

  statements: tuple[str, ...]
  sentences: tuple[str, ...]
  nouns: tuple[str, ...]
  clauses: tuple[str, ...]
  rewordings: tuple[str, ...] = ()
  bridges: tuple[str, ...] = ()
  others: tuple[str, ...] = ()
  blanks: tuple[str, ...] = ()


class Filled(NamedTuple):
  """A sentence, with the character spans of its values and entity names."""

  text: str
  spans: tuple[tuple[int, int], ...]
  name_spans: tuple[tuple[int, int], ...] = ()


def wordings(entity: gazetteer.Entity, fact: gazetteer.Fact) -> Wordings:
  """Returns the wordings of a fact's relation."""
  return all_wordings()[entity.kind, fact.relation]


@functools.cache
def all_wordings() -> dict[tuple[str, str], Wordings]:
  """Returns the wordings by (kind, relation).

  wordings.txt has a section [KIND RELATION] for each.
  """
  return {
    (kind, relation): section
    for (kinds, relation), section in read_sections('wordings.txt').items()
    for kind in kinds.split('|')
  }


def read_sections(name: str) -> dict[tuple[str, ...], Wordings]:
  """Returns a file's sections by the words of their headers, in brackets.

  Lines begin with Z (statements), X (sentences), N (nouns), C (clauses), ~
  (rewordings), > (bridges), ? (other questions) or = (their blanks).
  """
  text = pathlib.Path(__file__).with_name(name).read_text('utf-8')
  result = {}
  for section in text.split('\n\n[')[1:]:
    header, *lines = section.split('\n')
    result[tuple(header.rstrip(']').split())] = Wordings(
      *(tuple(x[2:] for x in lines if x[:1] == mark) for mark in 'ZXNC~>?=')
    )
  return result


def fill(wording: str, entity: str, values: Sequence[str] = ()) -> Filled:
  """Fills a wording: 'United States' becomes 'the United States' outside spans.

  Several values become 'A, B and C'. The text starts with a capital.
  """
  text, spans, names = '', [], []
  for part in re.split(r'(\{[ev]\})', wording):
    if part == '{e}':
      text += with_article(entity)
      names.append((len(text) - len(entity), len(text)))
    elif part == '{v}':
      for i, value in enumerate(values):
        if i:
          text += ' and ' if i == len(values) - 1 else ', '
        start = len(text) + len(with_article(value)) - len(value)
        text += with_article(value)
        spans.append((start, len(text)))
    else:
      text += part
  return Filled(text[:1].upper() + text[1:], tuple(spans), tuple(names))


def with_article(name: str) -> str:
  """Returns the name, with 'the' where English needs it."""
  return f'the {name}' if _TAKES_ARTICLE.fullmatch(name) else name
