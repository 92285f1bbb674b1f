"""The grammar of frames.txt, and the fillers around a question.

  "How big is {e}?", fillers "Hi," and "It is for <work>."
      -> "Hi, how big is {e}? It is for a quiz."

A question has at most two fillers. Lists give the words for <...>, training
from 'train' only; another split has lists of its own, or training's.
"""

import functools
import pathlib
import random
import re

_RATE = 0.27  # Of a filler before, and of one after.


@functools.cache
def rows(kind: str, split: str) -> tuple[str, ...]:
  """Returns the texts of a kind in frames.txt, of one split."""
  return tuple(text for of, text in _by_kind().get(kind, ()) if of == split)


@functools.cache
def frames(split: str) -> tuple[tuple[int, str], ...]:
  """Returns the frames of a split with their weights."""
  return tuple(
    (int(kind), text)
    for kind in _by_kind()
    if kind.isdigit()
    for text in rows(kind, split)
  )


def add(
  form: str, split: str, rng: random.Random, is_required: bool = False
) -> str:
  """Returns a form with fillers of a split, at least one if required."""
  chosen = [kind for kind in '<>' if rng.random() < _RATE]
  if is_required and not chosen:
    chosen = [rng.choice('<>')]
  form = _choose_words(form, split, rng)
  for kind in chosen:
    texts = rows(kind, split)
    if form.endswith('?'):
      texts += rows(f'{kind}?', split)
    filler = _choose_words(rng.choice(texts), split, rng)
    form = _join(kind, filler, form)
  return sentence(form)


def sentence(form: str) -> str:
  """Returns a form whose sentences after the first begin with a capital."""
  return re.sub(r'(?<=[^A-Z][.!?] )[a-z]', lambda found: found[0].upper(), form)


def _join(kind: str, filler: str, form: str) -> str:
  if kind == '<':
    is_name = re.match(r"I\b|\{|I'", form)
    return f'{filler} {form if is_name else form[0].lower() + form[1:]}'
  if filler[-1] in '.!':  # A sentence.
    return f'{form if form[-1] in ".?!" else form + "."} {filler}'
  body = form.rstrip('?.!')
  gap = '' if filler[0] == ',' else ' '
  return body + gap + filler + form[len(body) :]


def _choose_words(text: str, split: str, rng: random.Random) -> str:
  while '<' in text:
    text = re.sub('<(.*?)>', lambda x: rng.choice(_words(x[1], split)), text)
  return text


@functools.cache
def _words(name: str, split: str) -> list[str]:
  lists = dict(
    row.split(' ', 1) for of in ('train', split) for row in rows('=', of)
  )
  return lists[name].split('; ')


@functools.cache
def _by_kind() -> dict[str, list[tuple[str, str]]]:
  """Returns (split, text) by the kind of a row."""
  text = pathlib.Path(__file__).with_name('frames.txt').read_text('utf-8')
  result: dict[str, list[tuple[str, str]]] = {}
  for line in text.splitlines():
    if not line.startswith('#'):
      of, kind, rest = line.split(' ', 2)
      result.setdefault(kind, []).append((of, rest))
  return result
