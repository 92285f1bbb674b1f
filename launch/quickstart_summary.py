"""The texts of the quickstart for a person, from the files of its run.

`first_table` needs the evaluations without a reader; `summary` needs all.
"""

from collections.abc import Iterator, Mapping, Sequence
import itertools
import json
import os
import sys
from typing import Any

_WORDS = {'': "in the articles' words", 'reworded_': 'in other words'}
_SEARCHES = {
  'REALM': 'retrieval_realm/sparse_0',
  'REALM with BM25': 'retrieval_realm/sparse_1',
  'ICT': 'retrieval_ict',
  'BM25': 'retrieval_bm25',
}
_LEVEL = 0.05  # A difference with a larger p may be chance.


def first_table(run_dir: str) -> str:
  """Returns the recall of each search before any question was seen."""
  lines = [
    'Questions with the answer in the first 1, 5 and 20 blocks, in %:',
    ' ' * 16 + ''.join(f'{words:>26}' for words in _WORDS.values()),
  ]
  for name, folder in _SEARCHES.items():
    cells = [
      f'{metrics[f"recall@{k}"]:{9 if k > 1 else 8}.1f}'
      for words in _WORDS
      for metrics in [
        _read(run_dir, 'eval', folder, f'{words}test_questions', 'metrics.json')
      ]
      for k in (1, 5, 20)
    ]
    lines.append(f'{name:<16}{"".join(cells)}')
  return '\n'.join(lines)


def summary(run_dir: str) -> str:
  """Returns about twenty lines: figures, their meaning, and next steps."""
  tables = {
    words: _read(run_dir, f'{words}results.json')['tables'] for words in _WORDS
  }
  return '\n'.join(
    [
      *_beginning(run_dir),
      *_comparison(tables),
      *(_verdict(words, table[-1]) for words, table in tables.items()),
      '',
      *_examples(run_dir),
      '',
      *_next_steps(run_dir),
    ]
  )


def _beginning(run_dir: str) -> Iterator[str]:
  articles, sentences, train, test = (
    _num_lines(run_dir, 'world', f'{name}.jsonl')
    for name in ('articles', 'sentences', 'train_questions', 'test_questions')
  )
  yield (
    f'REALM learned to search {articles:,} articles from {sentences:,} '
    'sentences without labels;'
  )
  yield (
    f'then 0, 1,000 or all {train:,} questions trained search and reader. '
    'Exact match'
  )
  yield (
    f'in % on {test:,} questions about other entities, with 95 % intervals:'
  )


def _comparison(
  tables: Mapping[str, Sequence[Sequence[Mapping[str, Any]]]],
) -> Iterator[str]:
  """Yields a table: systems by number of questions, for both wordings."""
  yield (
    ' ' * 15 + ''.join(f'{words:^33}' for words in _WORDS.values()).rstrip()
  )
  numbers = [_split(table[0])[1] for table in tables['']]
  yield f'{"questions":<15}' + 2 * ''.join(f'{n:>11}' for n in numbers)
  for rows in zip(*itertools.chain(*tables.values()), strict=True):
    cells = [
      f'{row["exact_match"]:6.1f} ±{(high - low) / 2:.1f}'
      for row in rows
      for low, high in [row['interval']]
    ]
    yield f'{_split(rows[0])[0]:<15}' + ''.join(f'{c:>11}' for c in cells)


def _verdict(words: str, rows: Sequence[Mapping[str, Any]]) -> str:
  """Returns a sentence on the last table: REALM's place, and the best."""
  by_name = {_split(row)[0]: row for row in rows}
  value = {name: row['exact_match'] for name, row in by_name.items()}
  parts = []
  for name in ('ICT', 'BM25'):
    points = value['REALM'] - value[name]
    if by_name[name]['p'] >= _LEVEL:
      parts.append(f'not clearly better or worse than {name}')
    else:
      side = 'above' if points > 0 else 'below'
      parts.append(f'{abs(points):.1f} {side} {name}')
  best = max(value, key=value.__getitem__)
  where = _WORDS[words].capitalize()
  return f'{where}, REALM is {" and ".join(parts)}; best is {best}.'


def _examples(run_dir: str) -> Iterator[str]:
  """Yields three answers, and the answer after a change of one article."""
  path = _join(
    run_dir, 'eval/realm_all/sparse_0/test_questions/predictions.jsonl'
  )
  yield 'Three answers:'
  with open(path, encoding='utf-8') as file:
    for line in itertools.islice(file, 3):
      yield f'  {_answer(json.loads(line))}'
  change = _read(run_dir, 'changed/changed.json')
  with open(_join(run_dir, 'changed/answer/predictions.jsonl')) as file:
    row = json.loads(file.readline())
  yield (
    f'With {change["new_answer"]} in place of {change["old_answer"]} in the '
    'article, and no training:'
  )
  yield f'  {_answer(row)}'


def _answer(row: Mapping[str, Any]) -> str:
  """Returns a line: question, answer, and the evidence's title."""
  titles = [item['title'] for item in row['evidence'][:1]]
  source = f'from "{titles[0]}", ' if titles else ''
  right = 'right' if row['exact_match'] else 'wrong'
  return f'{row["question"]} {row["prediction"] or "-"} ({source}{right})'


def _next_steps(run_dir: str) -> Iterator[str]:
  yield f'All figures and curves: {_join(run_dir, "report.html")}'
  yield f'Ask in a browser:   {_command("bin.serve")} --model_dir={run_dir}'
  yield f'Ask in a terminal:  {_command("bin.answer")} --model_dir={run_dir}'
  yield f'Your own articles:  {_command("launch.own_text")} ARTICLES RUN_DIR'


def _command(module: str) -> str:
  """Returns the command of a module, as installed or in a checkout."""
  if __package__ == 'launch':
    return f'{os.path.relpath(sys.executable)} -m {module}'
  return f'realm-{module.partition(".")[2].replace("_", "-")}'


def _split(row: Mapping[str, Any]) -> tuple[str, str]:
  """Returns system and number of questions of 'SYSTEM after N questions'."""
  name, _, rest = row['system'].partition(' after ')
  return name, rest.removesuffix(' questions')


def _join(run_dir: str, *names: str) -> str:
  return os.path.join(run_dir, *names)


def _read(run_dir: str, *names: str) -> dict[str, Any]:
  with open(_join(run_dir, *names), encoding='utf-8') as file:
    return json.load(file)


def _num_lines(run_dir: str, *names: str) -> int:
  with open(_join(run_dir, *names), 'rb') as file:
    return sum(1 for _ in file)
