"""Evaluations of `own_text` -> choice.json: the search that measured best."""

from collections.abc import Iterator
import json
import pathlib
from typing import Any, NamedTuple

_LABELS = {
  'bm25': 'BM25',
  'before': 'before any training',
  'after': 'after learning from the text',
  'qa': 'after learning from questions',
}
WEIGHT = 0.7  # Of BM25's scores.
_LEVEL = 0.05  # A lead with a larger p may be chance.
# Prefix of the fields of metrics.json -> field with the number of texts, their
# name, and their rank. Questions decide, if there are any.
_KINDS = {
  '': ('num_questions', 'questions with an answer', 'answer_rank'),
  'span_': (
    'num_sentences', 'masked sentences with the masked words', 'span_rank'
  ),
}  # fmt: skip


class Measure(NamedTuple):
  """Figures of BM25 or a model, without or with BM25.

  `hits` tells whether each text has a right block among the first 5.
  """

  name: str
  sparse_weight: float
  kind: str
  metrics: dict[str, Any]
  hits: list[bool]


def choose(
  models: list[str], evaluations: list[str], tests: list[str], output: str
) -> None:
  """Writes the best search and reader, and tables; an action of a stage.

  Args:
    models: Names of models, the least trained first.
    evaluations: Directories, named 'bm25' or as a model; `tests` are shown.
  """
  measures = _read(evaluations)
  # Without a measure the page searches with the start.
  name, weight = ('before', WEIGHT) if 'before' in models else ('bm25', 0.0)
  why = 'too little text is held out to measure others'
  if measures:
    name, weight, *_ = _best(measures)
    why = 'no other is clearly better'
  exact = {each.name: each.metrics.get('exact_match', 0) for each in measures}
  what = 'words alone' if name == 'bm25' else f'the model {_LABELS[name]}'
  both = ' and BM25' if weight else ''
  lines = [
    *_table('Held out', measures),
    *_table('--test_questions', _read(tests)),
    f'The page searches by {what}{both}: {why}.',
  ]
  choice = {
    'model': models[-1] if name == 'bm25' else name,
    'retriever': 'bm25' if name == 'bm25' else 'model',
    'sparse_weight': weight,
    'reads_qa': 'qa' in models and exact.get('qa', 0) >= exact.get('after', 0),
    'text': '\n'.join(lines),
  }
  pathlib.Path(output).write_text(json.dumps(choice), encoding='utf-8')


def _read(folders: list[str]) -> list[Measure]:
  """Returns the measures in the directories, without BM25 first."""
  found = []
  for folder in map(pathlib.Path, folders):
    for path in sorted(folder.glob('**/metrics.json')):
      metrics = json.loads(path.read_text(encoding='utf-8'))
      kind = '' if 'num_questions' in metrics else 'span_'
      rank = _KINDS[kind][-1]
      rows = [
        json.loads(line)
        for file in path.parent.glob('*s.jsonl')
        for line in file.read_text(encoding='utf-8').splitlines()
      ]
      hits = [0 < (row[rank] or 9) <= 5 for row in rows if rank in row]
      weight = float(path.parent.name.partition('sparse_')[2] or 0)
      found.append(Measure(folder.name, weight, kind, metrics, hits))
  return found


def _best(measures: list[Measure]) -> Measure:
  """Returns the best search; more training must be clearly better.

  So a model that training made worse, or better by chance, is never handed
  over. Of equal searches the first one is the best.
  """

  def best_of(*names: str) -> list[Measure]:
    found = [each for each in measures if each.name in names]
    return sorted(found, key=lambda each: -sum(each.hits))[:1]

  (best,) = best_of('bm25', 'before')
  for rival in [*best_of('after'), *best_of('qa')]:
    if _is_better(rival.hits, best.hits):
      best = rival
  return best


def _is_better(hits: list[bool], others: list[bool]) -> bool:
  """Returns whether `hits` is clearly better, by McNemar's exact test."""
  from scipy import stats  # Takes a second.

  pairs = list(zip(hits, others, strict=True))
  gained, lost = pairs.count((True, False)), pairs.count((False, True))
  return (
    gained > lost and stats.binomtest(gained, gained + lost).pvalue < _LEVEL
  )


def _table(title: str, measures: list[Measure]) -> Iterator[str]:
  """Yields a line for BM25 and each model, and an empty one."""
  if not measures:
    return
  number, what, _ = _KINDS[measures[0].kind]
  yield (
    f'{title}: {measures[0].metrics[number]:,} {what} in the first 5 blocks, '
    'in percent (95 % interval):'
  )
  for name, label in _LABELS.items():
    cells = [_cell(each) for each in measures if each.name == name]
    if cells:
      yield f'  {label:32} ' + '   with BM25 '.join(cells)
  yield ''


def _cell(measure: Measure) -> str:
  metric, metrics = f'{measure.kind}recall@5', measure.metrics
  if metric not in metrics:
    return 'nothing found'
  low, high = metrics[f'{measure.kind}intervals'][metric]
  cell = f'{metrics[metric]:.1f} ({low:.1f} to {high:.1f})'
  if 'exact_match' in metrics:
    cell += f', exact answers {metrics["exact_match"]:.1f}'
  return cell
