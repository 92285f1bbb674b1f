"""Masked queries and their candidates, as in Table 3 of the paper.

  trainer -> <run_dir>/examples.jsonl -> reports

The file has one query a line, all scored at the same step; it is replaced as a
whole.
"""

from collections.abc import Iterable, Sequence
import json
from typing import Any, NamedTuple, Optional

import tensorflow as tf

from realm_tf import errors
from realm_tf.rundir import json_files
from realm_tf.rundir import layout


class Candidate(NamedTuple):
  """A block beside a query.

  Attributes:
    block_id: Row in the corpus; None is the null block.
    title: Title of the article; '' for the null block.
    text: Text of the block; '' for the null block.
    p_z: p(z|x).
    p_y: p(y|z,x), the product over all masked wordpieces.
    utility: log p(y|z,x) - log p(y|null,x) (Appendix D); None if the null block
      is not a candidate.
  """

  block_id: Optional[int]
  title: str
  text: str
  p_z: float
  p_y: float
  utility: Optional[float]


class Example(NamedTuple):
  """A query x, its masked words y and its candidates z.

  Attributes:
    step: Training step of the parameters.
    query: x with the masked words filled in.
    masked: Spans (start, end) of `query` that were masked.
    candidates: Candidates by descending p(z|x).
  """

  step: int
  query: str
  masked: Sequence[tuple[int, int]]
  candidates: Sequence[Candidate]

  def pieces(self) -> list[tuple[str, bool]]:
    """Returns `query` cut into parts: (text, whether it was masked)."""
    return cut_at(self.query, self.masked)


def cut_at(
  text: str, spans: Iterable[tuple[int, int]]
) -> list[tuple[str, bool]]:
  """Returns the non-empty parts of `text`: (part, whether it is a span).

  Args:
    spans: Spans (start, end), sorted and not overlapping.
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
  with tf.io.gfile.GFile(path, 'rb') as file:
    lines = file.read().splitlines()
  return [_parse(line, f'{path}:{i}') for i, line in enumerate(lines, 1)]


def _parse(line: bytes, where: str) -> Example:
  try:
    fields = json.loads(line)
    example = Example(
      int(fields['step']),
      _text(fields['query']),
      [(int(start), int(end)) for start, end in fields['masked']],
      [_candidate(candidate) for candidate in fields['candidates']],
    )
  except (ValueError, TypeError, KeyError) as error:
    raise errors.UserError(
      f'{where} must be a query with its candidates, as the trainer writes '
      f'it. Found: {type(error).__name__}: {error}. Remove the file: the '
      'trainer writes it anew.'
    ) from error
  return example


def _candidate(fields: Any) -> Candidate:
  block_id, utility = fields['block_id'], fields['utility']
  return Candidate(
    None if block_id is None else int(block_id),
    _text(fields['title']),
    _text(fields['text']),
    float(fields['p_z']),
    float(fields['p_y']),
    None if utility is None else float(utility),
  )


def _text(value: Any) -> str:
  if not isinstance(value, str):
    raise TypeError(f'{value!r} is no text')
  return value
