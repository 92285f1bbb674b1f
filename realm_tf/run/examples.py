"""Masked queries and their candidates, as in Table 3 of the paper.

<run_dir>/examples.jsonl has one query per line, all scored at the same step.
The trainer replaces the file as a whole; reports read it.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Optional

import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text
from realm_tf.run import json_files
from realm_tf.run import json_shapes
from realm_tf.run import layout


class Candidate(NamedTuple):
  """A candidate of a query. The null block has no id and empty texts."""

  block_id: Optional[int]
  title: str
  text: str
  p_z: float  # p(z|x).
  p_y: float  # p(y|z,x), the product over all masked wordpieces.
  # log p(y|z,x) - log p(y|null,x) (Appendix D); None if the null block is not a
  # candidate.
  utility: Optional[float]


_CANDIDATE = json_shapes.object_of(
  {
    'block_id': json_shapes.nullable(json_shapes.COUNT),
    'title': json_shapes.TEXT,
    'text': json_shapes.TEXT,
    'p_z': json_shapes.NUMBER,
    'p_y': json_shapes.NUMBER,
    'utility': json_shapes.nullable(json_shapes.NUMBER),
  }
)
_FIELDS = {
  'step': json_shapes.COUNT,
  'query': json_shapes.TEXT,
  'masked': json_shapes.list_of(
    json_shapes.row_of(json_shapes.COUNT, json_shapes.COUNT)
  ),
  'candidates': json_shapes.list_of(_CANDIDATE),
}


class Example(NamedTuple):
  """A query x, its masked words y and its candidates z."""

  step: int  # Training step of the parameters.
  query: str  # x with the masked words filled in.
  masked: Sequence[tuple[int, int]]  # Spans (start, end) of `query`.
  candidates: Sequence[Candidate]  # By descending p(z|x).

  def pieces(self) -> list[tuple[str, bool]]:
    """Returns the parts of `query`: (text, whether it was masked)."""
    return cut_at(self.query, self.masked)


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
  json_files.write_lines(
    layout.examples_file(run_dir),
    (
      {
        **example._asdict(),
        'candidates': [c._asdict() for c in example.candidates],
      }
      for example in examples
    ),
  )


def read(run_dir: str) -> list[Example]:
  """Returns the examples of a run, [] without a file; UserError if damaged."""
  path = layout.examples_file(run_dir)
  if not tf.io.gfile.exists(path):
    return []
  lines = input_files.read(path).splitlines()
  return [_parse(line, f'{path}:{i}') for i, line in enumerate(lines, 1)]


def _parse(line: bytes, where: str) -> Example:
  advice = 'Remove the file: the trainer writes it again.'
  fields = json_shapes.check(
    json_text.parse(line, where, advice), _FIELDS, where, advice
  )
  query, masked = fields['query'], fields['masked']
  positions = [position for span in masked for position in span]
  if positions != sorted(positions) or max(positions, default=0) > len(query):
    raise errors.UserError(
      f"'masked' in {where} must be spans of its query, one after the other. "
      f'Found {json_shapes.shown(masked)}. {advice}'
    )
  return Example(
    fields['step'],
    query,
    [(start, end) for start, end in masked],
    [
      Candidate(*(candidate[name] for name in Candidate._fields))
      for candidate in fields['candidates']
    ],
  )
