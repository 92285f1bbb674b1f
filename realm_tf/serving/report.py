"""Runs and evaluations -> the report, one self-contained HTML page.

The page has no date: equal inputs give equal pages.
"""

from collections.abc import Sequence
import pathlib
import re
from typing import Any

import jinja2

from realm_tf.run import examples as examples_lib
from realm_tf.serving import pictures
from realm_tf.serving import run_reader

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
_TEMPLATES = jinja2.Environment(
  loader=jinja2.FileSystemLoader(
    pathlib.Path(__file__).parent / 'report_static'
  ),
  autoescape=True,  # All texts are untrusted.
  trim_blocks=True,
  lstrip_blocks=True,
  undefined=jinja2.StrictUndefined,
)

_Pieces = Sequence[tuple[str, bool]]  # Parts of a text, and whether marked.


def build(
  runs: Sequence[run_reader.Run],
  evaluations: Sequence[run_reader.Evaluation],
  compared: Sequence[run_reader.Comparison] = (),
) -> str:
  """Returns the page of one run, or of several runs."""
  by_run = {run.name: run.rows for run in runs}
  return _TEMPLATES.get_template('report.html').render(
    title=f'Report: {", ".join(by_run)}',
    runs=runs,
    compared=compared,
    systems=run_reader.systems(compared),
    picture=pictures.compared(compared) if compared else None,
    confidence=pictures.risk({each.name: each.risk for each in evaluations}),
    refusing_headings=['in %', *_REFUSING.values()],
    refusing=of_refusing(evaluations),
    learned=[
      (panel, picture)
      for panel in pictures.PANELS
      for picture in pictures.learned(panel, by_run)
    ],
    examples=[
      (run, list(map(of_example, run.examples))) for run in runs if run.examples
    ],
  )


def of_refusing(found: Sequence[run_reader.Evaluation]) -> list[list[Any]]:
  """Returns rows on how each evaluation refuses: its name, and the figures.

  Evaluations with sets have a row for each, and leave no others.
  """
  return [
    [name.replace('_', ' '), *(metrics.get(each, '–') for each in _REFUSING)]
    for each in [each for each in found if each.sets] or found
    for name, metrics in {each.name: each.metrics, **each.sets}.items()
    if 'answered' in metrics
  ]


def of_example(
  example: examples_lib.Example,
) -> tuple[_Pieces, list[tuple[examples_lib.Candidate, _Pieces]]]:
  """Returns the sentence, and the candidates with their texts.

  The masked words are marked in both, in upper or lower case.
  """
  masked = [example.query[start:end].split() for start, end in example.masked]
  # Joined wordpieces have extra spaces: 'u . s .' for 'U.S.'.
  words = '|'.join(r'\s*'.join(map(re.escape, each)) for each in masked if each)
  pattern = re.compile(rf'(?<!\w)(?:{words})(?!\w)', re.IGNORECASE)
  spans = lambda text: [
    match.span() for match in pattern.finditer(text) if match[0]
  ]
  return examples_lib.cut_at(example.query, example.masked), [
    (each, examples_lib.cut_at(each.text, spans(each.text)))
    for each in example.candidates
  ]
