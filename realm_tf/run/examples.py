"""Masked queries and their candidates, as in Table 3 of the paper.

<run_dir>/examples.jsonl has one query per line, all scored at the same step.
The trainer replaces the file as a whole; reports read it.
"""

from collections.abc import Iterable, Sequence
import itertools
from typing import Optional

import msgspec
import tensorflow as tf

from realm_tf import errors
from realm_tf import json_text
from realm_tf.run import layout


class Candidate(msgspec.Struct, frozen=True):
  """A candidate of a query. The null block has no id and empty texts."""

  block_id: Optional[int]
  title: str
  text: str
  p_z: float  # p(z|x).
  p_y: float  # p(y|z,x), the product over all masked wordpieces.
  # log p(y|z,x) - log p(y|null,x) (Appendix D); None if the null block is not a
  # candidate.
  utility: Optional[float]


class Example(msgspec.Struct, frozen=True):
  """A query x, its masked words y and its candidates z."""

  step: int  # Training step of the parameters.
  query: str  # x with the masked words filled in.
  masked: Sequence[tuple[int, int]]  # Spans (start, end) of `query`.
  candidates: Sequence[Candidate]  # By descending p(z|x).


def cut_at(
  text: str, spans: Iterable[tuple[int, int]]
) -> list[tuple[str, bool]]:
  """Returns the non-empty parts of `text`: (part, whether it is a span).

  `spans` are (start, end), sorted and not overlapping.
  """
  pieces, position = [], 0
  for start, end in spans:
    pieces += [(text[position:start], False), (text[start:end], True)]
    position = end
  pieces.append((text[position:], False))
  return [piece for piece in pieces if piece[0]]


def write(run_dir: str, examples: Sequence[Example]) -> None:
  """Replaces the examples of a run."""
  path = layout.examples_file(run_dir)
  json_text.write_lines(path, map(msgspec.to_builtins, examples))


def read(run_dir: str) -> list[Example]:
  """Returns the examples of a run, [] without a file; UserError if damaged."""
  path = layout.examples_file(run_dir)
  advice = 'Remove the file: the trainer writes it again.'
  found: list[Example] = []
  if not tf.io.gfile.exists(path):
    return found
  for where, fields in json_text.read_lines(path, advice):
    example = json_text.convert(fields, Example, where, advice)
    places = [0, *itertools.chain(*example.masked), len(example.query)]
    if places != sorted(places):
      raise errors.UserError(
        f"'masked' in {where} must be spans of its query, one after the other. "
        f'Found {json_text.shown(example.masked)}. {advice}'
      )
    found.append(example)
  return found
