"""Runs and evaluations -> the report, one self-contained HTML page.

The page has no date: equal inputs give equal pages.
"""

from collections.abc import Iterator, Mapping, Sequence

from realm_tf.serving import comparison
from realm_tf.serving import confidence
from realm_tf.serving import curves
from realm_tf.serving import excerpts
from realm_tf.serving import panels
from realm_tf.serving import run_reader
from realm_tf.serving import tables
from realm_tf.serving import templates

# Groups of panels that show what retrieval learns.
_OF_RETRIEVAL = 'Retrieval', 'Held-out articles'
# Metrics for large type, where no systems are compared.
_HEADLINES = {
  'exact_match': 'Exact match, %',
  'recall@5': 'Answer in 5 blocks, %',
  'accuracy': 'Accuracy',
  'loss': 'Loss',
}

_Jobs = Mapping[str, Sequence[run_reader.Run]]


def build(
  runs: Sequence[run_reader.Run],
  evaluations: Sequence[run_reader.Evaluation],
  results: Sequence[run_reader.Results] = (),
) -> str:
  """Returns the page of one run, or of several runs."""
  compared = comparison.read(results)
  evaluations = list(_named(evaluations))
  risks = {each.name: each.risk for each in evaluations}
  jobs: dict[str, list[run_reader.Run]] = {}
  for run in runs:
    jobs.setdefault(run.job, []).append(run)
  return templates.fill(
    'report.html',
    title=f'Report: {", ".join(jobs).lower()}',
    runs=runs,
    headlines=list(_headlines(runs, evaluations, compared)),
    compared=compared,
    systems=comparison.systems(compared),
    picture=comparison.picture(compared) if compared else '',
    results=list(map(tables.of_systems, results)),
    confidence=confidence.picture(risks),
    refusing=tables.of_refusing(evaluations),
    learned=list(_pictures(jobs, of_retrieval=True)),
    training=list(_pictures(jobs, of_retrieval=False)),
    examples=[
      (run, [excerpts.of_example(example) for example in run.examples])
      for run in runs
      if run.examples
    ],
    figures=[tables.of_evaluations(evaluations)] if evaluations else [],
    config=list(tables.of_configs(runs, run_reader.default_config()))
    if any(run.config for run in runs)
    else [],
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


def _headlines(runs, evaluations, compared) -> Iterator[tuple[str, str, str]]:
  """Yields (name, value, whose) of a few figures, the most important ones."""
  for each in compared:
    best = each.best()
    value = f'{each.systems[best][0, -1]:.1f} %'
    yield f'{each.title}: {each.metric}, best', value, best
  for each in evaluations:
    if each.sets and 'coverage@90' in each.metrics:
      value = f'{each.metrics["coverage@90"]:.1f} %'
      yield 'Answered, 9 of 10 right', value, each.name
  if not compared:
    sources = [(each.name, each.metrics) for each in evaluations]
    for name, row in sources or [(run.name, run.rows[-1]) for run in runs]:
      for metric in [m for m in _HEADLINES if m in row][:1]:
        yield _HEADLINES[metric], templates.number(row[metric]), name


def _pictures(
  jobs: _Jobs, of_retrieval: bool
) -> Iterator[tuple[str, panels.Panel, str]]:
  """Yields (job, panel, its picture).

  A panel shows related metrics of one run, or one metric of several runs.
  """
  for job, runs in jobs.items():
    names = dict.fromkeys(name for run in runs for name in run.series)
    last_step = max(run.last_step for run in runs)
    for group, found in panels.arrange(names, len(runs) > 1).items():
      if (group in _OF_RETRIEVAL) == of_retrieval:
        for panel in found:
          lines = list(_lines(panel, runs))
          yield job, panel, curves.picture(panel, lines, job, last_step)


def _lines(panel: panels.Panel, runs) -> Iterator[curves.Line]:
  """Yields the lines of a panel; a run has the same color in all panels."""
  for i, run in enumerate(runs):
    for j, (name, text) in enumerate(panel.metrics.items()):
      if name in run.series:
        label = run.name if len(runs) > 1 else text or 'at the end'
        yield curves.Line(label, i + j, run.series[name])
