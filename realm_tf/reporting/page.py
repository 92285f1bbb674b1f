"""Runs and evaluations -> the report, one self-contained HTML page.

The page has no date: equal inputs give equal pages.
"""

from collections.abc import Iterator, Sequence

from realm_tf.reporting import config_section
from realm_tf.reporting import curve_section
from realm_tf.reporting import elements
from realm_tf.reporting import examples_section
from realm_tf.reporting import figures_section
from realm_tf.reporting import page_style
from realm_tf.reporting import run_reader

element = elements.element

# Forbids scripts and loading, for any text in the page.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_VIEWPORT = 'width=device-width, initial-scale=1'
_ABOUT_CURVES = (
  'A point of a curve is a row of metrics.jsonl. In a long run, a point is the '
  'mean of several rows, with a band from the lowest to the highest value.'
)
_ABOUT_SYSTEMS = (
  'From bin.results_table: recall, exact match and F1 in %; the 95 % interval '
  'of exact match (of recall@5 without a reader), and the p-value of '
  "McNemar's exact test against the first row."
)
_ABOUT_EXAMPLES = (
  'Sentences of a training batch, scored with the parameters of the given '
  'step. The masked words y are marked, in the candidates too. '
  'Candidates z are sorted by p(z|x). Utility is log p(y|z,x) − '
  'log p(y|null,x): above 0, the block helps to predict y.'
)


def build(
  runs: Sequence[run_reader.Run],
  evaluations: Sequence[run_reader.Evaluation],
  results: Sequence[run_reader.Results] = (),
) -> str:
  """Returns the page of one run, or of several runs."""
  title = f'Report: {", ".join(run.name for run in runs)}'
  sections = list(_sections(runs, evaluations, results))
  links = [
    element('li', element('a', section.findtext('h2'), href=f'#{section_id}'))
    for section in sections
    if (section_id := section.get('id'))
  ]
  body = element(
    'body',
    element('header', element('h1', title)),
    element('nav', element('ul', *links), aria_label='Contents'),
    element('main', *sections),
  )
  return elements.to_page(element('html', head(title), body, lang='en'))


def head(title: str) -> elements.Element:
  """Returns the <head> of a page: style, and a policy against scripts."""
  policy = element('meta', content=_POLICY)
  policy.set('http-equiv', 'Content-Security-Policy')
  return element(
    'head',
    element('meta', charset='utf-8'),
    policy,
    element('meta', name='viewport', content=_VIEWPORT),
    element('meta', name='color-scheme', content='light dark'),
    element('title', title),
    element('style', page_style.STYLE),
  )


def _sections(runs, evaluations, results) -> Iterator[elements.Element]:
  yield _section(
    'Overview',
    *(figures_section.headlines(run) for run in runs if len(runs) == 1),
    figures_section.runs_table(runs),
    element('p', _ABOUT_CURVES),
  )
  if results:
    yield _section('Systems', element('p', _ABOUT_SYSTEMS), *_systems(results))
  if evaluations:
    yield _section(
      'Evaluation',
      element('p', 'From bin.evaluate and bin.train_tagger: in %, or counts.'),
      figures_section.evaluations(evaluations),
    )
  yield from curve_section.build(runs)
  examples = list(_examples(runs))
  if examples:
    yield _section('Examples', element('p', _ABOUT_EXAMPLES), *examples)
  yield _section('Final figures', figures_section.final_figures(runs))
  if any(run.config for run in runs):
    defaults = run_reader.default_config()
    yield _section('Config', *config_section.build(runs, defaults))


def _section(title: str, *content: elements.Element) -> elements.Element:
  return element(
    'section',
    element('h2', title),
    *content,
    id=curve_section.section_id(title),
  )


def _systems(results) -> Iterator[elements.Element]:
  """Yields the name and the tables of each file."""
  for name, tables in results:
    yield element('h3', name)
    yield from map(figures_section.systems, tables)


def _examples(runs) -> Iterator[elements.Element]:
  """Yields the name and the examples of each run."""
  for run in runs:
    if run.examples:
      step = elements.number(run.examples[0].step)
      yield element('h3', f'{run.name}, step {step}')
      yield from examples_section.build(run.examples)
