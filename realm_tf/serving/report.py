"""Runs and evaluations -> the report, one self-contained HTML page.

The page has no date: equal inputs give equal pages.
"""

from collections.abc import Iterator, Sequence
import re
from typing import Any, NamedTuple, Optional

from realm_tf.run import examples as examples_lib
from realm_tf.serving import comparison
from realm_tf.serving import curves
from realm_tf.serving import run_reader
from realm_tf.serving import templates

_MISSING = '–'
_REFUSING = {
  'answered': 'answered',
  'exact_match_answered': 'right if answered',
  'refused_answerable': 'refused with an answer in the corpus',
  'refused_impossible': 'refused without',
  'auroc': 'AUROC',
  'coverage@80': 'coverage, 80 % right',
  'coverage@90': 'coverage, 90 % right',
  'expected_calibration_error': 'calibration error',
}
_SHOWN_CHARACTERS = 300
_BEFORE_THE_WORDS = 80  # Shown characters before the masked words.

_Pieces = Sequence[tuple[str, bool]]  # Parts of a text, and whether marked.


class Table(NamedTuple):
  """Cells, numbers or text; the first of a row is its heading."""

  title: str
  headings: Sequence[str]
  rows: Sequence[Sequence[Any]]


def build(
  runs: Sequence[run_reader.Run],
  evaluations: Sequence[run_reader.Evaluation],
  results: Sequence[run_reader.Results] = (),
) -> str:
  """Returns the page of one run, or of several runs."""
  compared = comparison.read(results)
  evaluations = list(_named(evaluations))
  by_run = {run.name: run.series for run in runs}
  learned = [(each, curves.learned(each, by_run)) for each in curves.PANELS]
  return templates.fill(
    'report.html',
    title=f'Report: {", ".join(dict.fromkeys(r.job for r in runs)).lower()}',
    runs=runs,
    compared=compared,
    systems=comparison.systems(compared),
    picture=comparison.picture(compared) if compared else '',
    results=list(map(of_systems, results)),
    confidence=curves.risk({each.name: each.risk for each in evaluations}),
    refusing=of_refusing(evaluations),
    learned=[(panel, picture) for panel, picture in learned if picture],
    examples=[
      (run, list(map(of_example, run.examples))) for run in runs if run.examples
    ],
  )


def _named(
  evaluations: Sequence[run_reader.Evaluation],
) -> Iterator[run_reader.Evaluation]:
  """Yields the evaluations with names for a person."""
  short = {each.name.rpartition('/')[2] for each in evaluations}
  num_joint = sum(1 for each in evaluations if each.sets)
  for each in evaluations:
    name = each.name
    if len(short) == len(evaluations):
      name = name.rpartition('/')[2]
    if each.sets:
      name = 'all questions' if num_joint == 1 else f'{name}: all questions'
    yield each._replace(name=name.replace('_', ' '))


def of_systems(file: run_reader.Results) -> Table:
  """Returns all columns of bin.results_table."""
  rows = [row for table in file.tables for row in table]
  names = list(dict.fromkeys(name for row in rows for name in row))
  return Table(
    f'{file.title}: all columns',
    [name.replace('_', ' ') for name in names],
    [[row.get(name, _MISSING) for name in names] for row in rows],
  )


def of_refusing(found: Sequence[run_reader.Evaluation]) -> Table:
  """Returns how each evaluation refuses to answer.

  Evaluations with sets have a row for each, and leave no others.
  """
  rows = []
  for each in [each for each in found if each.sets] or found:
    for name, metrics in {each.name: each.metrics, **each.sets}.items():
      if 'answered' in metrics:
        cells = [metrics.get(metric, _MISSING) for metric in _REFUSING]
        rows.append([name.replace('_', ' '), *cells])
  return Table('', ['in %', *_REFUSING.values()], rows)


def of_example(
  example: examples_lib.Example,
) -> tuple[_Pieces, list[tuple[examples_lib.Candidate, _Pieces]]]:
  """Returns the sentence, and the candidates with a part of their texts.

  The masked words are marked in both.
  """
  pattern = _pattern(example)
  found: list[tuple[examples_lib.Candidate, _Pieces]] = []
  for candidate in example.candidates:
    text = _cut(candidate.text, pattern)
    spans = [m.span() for m in pattern.finditer(text)] if pattern else []
    found.append((candidate, examples_lib.cut_at(text, spans)))
  return example.pieces(), found


def _pattern(example: examples_lib.Example) -> Optional[re.Pattern]:
  """Returns a pattern that finds the masked words in upper or lower case."""
  found = []
  for start, end in example.masked:
    words = example.query[start:end].split()
    # A single letter would match everywhere.
    if len(''.join(words)) > 1 or ''.join(words).isdigit():
      # Joined wordpieces have extra spaces: 'u . s .' for 'U.S.'.
      found.append(r'\s*'.join(re.escape(word) for word in words))
  if not found:
    return None
  return re.compile(rf'(?<!\w)(?:{"|".join(found)})(?!\w)', re.IGNORECASE)


def _cut(text: str, pattern: Optional[re.Pattern]) -> str:
  """Returns a part of `text`, whole words, with the masked words if found."""
  match = pattern.search(text) if pattern else None
  start = 0
  if match and match.end() > _SHOWN_CHARACTERS:
    start = match.start() - _BEFORE_THE_WORDS
    start = text.find(' ', start, match.start()) + 1 or start
  part = text[start : start + _SHOWN_CHARACTERS]
  if start + len(part) < len(text):
    part = f'{part.rpartition(" ")[0] or part} …'
  return f'… {part}' if start else part
