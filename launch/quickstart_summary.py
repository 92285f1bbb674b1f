"""The texts of the quickstart for a person, from the files of its run."""

from collections.abc import Iterator
import json
import os
import pathlib
import sys
from typing import Any

from realm_tf.config import names
from realm_tf.run import recipe_result

# Beginning of a test's file name -> its wording.
WORDS = {
  '': "in the articles' words",
  'reworded_': 'in other words',
  'unseen_': 'in forms never seen in training',
}
# In the columns of the short table.
_SHORT_WORDS = "articles' words", 'other words', 'unseen forms'
# Of BM25's scores next to REALM's; dev questions chose it.
WEIGHT = 2
HYBRID = f'sparse_{WEIGHT}'  # Part of an evaluation.
_SEARCHES = {
  'REALM': 'retrieval_realm/sparse_0',
  'REALM with BM25': f'retrieval_realm/{HYBRID}',
  'ICT': 'retrieval_ict',
  'BM25': 'retrieval_bm25',
}
# After all questions. System -> its evaluation.
SYSTEMS = {
  'REALM': 'realm_all/sparse_0',
  'REALM with BM25': f'realm_all/{HYBRID}',
  'BM25 with this reader': 'bm25_realm_all',
}
SEARCHED = '', 'reworded_'  # Wordings of the first table.
_IMPOSSIBLE = {
  'missing_test_questions': 'about facts that an article leaves out,',
  'foreign_test_questions': 'about other subjects.',
}


def first_table(run_dir: str, *, compare: bool) -> str:
  """Returns the recall of each search before any question was seen."""
  lines = [
    'Questions with the answer in the first 1, 5 and 20 blocks, in %:',
    ' ' * 16 + ''.join(f'{WORDS[words]:>26}' for words in SEARCHED),
  ]
  for name, folder in _SEARCHES.items():
    if name == 'ICT' and not compare:
      continue
    line = f'{name:<16}'
    for words in SEARCHED:
      test = f'eval/{folder}/{words}test_questions'
      metrics = json.loads(_text(run_dir, f'{test}/metrics.json'))
      first, five, twenty = (metrics[f'recall@{k}'] for k in (1, 5, 20))
      line += f'{first:8.1f}{five:9.1f}{twenty:9.1f}'
    lines.append(line)
  return '\n'.join(lines)


def summary(run_dir: str, *, compare: bool) -> str:
  """Returns a screen of text: figures, examples, and next steps."""
  articles, sentences, train, test = (
    _text(run_dir, f'world/{name}.jsonl').count('\n')
    for name in ('articles', 'sentences', 'train_questions', 'test_questions')
  )
  numbers = '0, 1,000 or all' if compare else 'all'
  lines = [
    f'REALM learned to search {articles:,} articles from {sentences:,} '
    'sentences without labels;',
    f'then {numbers} {train:,} questions trained search and reader. '
    'Exact match',
    f'in % on {test:,} questions about other entities, with 95 % intervals:',
    *(_comparison(run_dir) if compare else _results(run_dir)),
    '',
    *_refusals(run_dir),
    '',
    *_examples(run_dir),
    *(_changed_fact(run_dir) if compare else []),
    '',
    ask(run_dir),
    f'Your own articles:  {_command("launch.own_text")} ARTICLES RUN_DIR',
    f'In pictures:        {os.path.join(run_dir, "report.html")}'
    if compare
    else f'ICT and BM25 too:   {_command("launch.quickstart")} {run_dir} '
    '--compare',
  ]
  return '\n'.join(lines)


def ask(run_dir: str) -> str:
  """Returns the commands that answer."""
  return (
    f'Ask in a browser:   {_command("bin.serve")} --model_dir={run_dir}\n'
    f'Ask in a terminal:  {_command("bin.answer")} --model_dir={run_dir}'
  )


def _results(run_dir: str) -> Iterator[str]:
  """Yields a table of systems by wordings."""
  yield ' ' * 24 + ''.join(f'{wording:>18}' for wording in _SHORT_WORDS)
  tables = [
    json.loads(_text(run_dir, f'{words}results.json'))['tables'][0]
    for words in WORDS
  ]
  for rows in zip(*tables, strict=True):
    yield f'  {rows[0]["system"]:<22}' + ''.join(
      f'{_in_percent(row):>18}' for row in rows
    )


def _comparison(run_dir: str) -> Iterator[str]:
  """Yields a table of systems by number of questions for each wording."""
  for words, wording in WORDS.items():
    results = json.loads(_text(run_dir, f'{words}comparison.json'))
    # Each is named 'SYSTEM after N questions'.
    systems = list(zip(*results['tables'], strict=True))
    if not words:
      numbers = [row['system'].split()[-2] for row in systems[0]]
      yield f'{"training questions":<20}' + ''.join(f'{n:>12}' for n in numbers)
    yield wording.capitalize()
    for rows in systems:
      line = f'  {rows[0]["system"].partition(" after ")[0]:<18}'
      yield line + ''.join(f'{_in_percent(row):>12}' for row in rows)


def _in_percent(row: dict[str, Any]) -> str:
  """Returns exact match and half of its interval."""
  low, high = row['interval']
  return f'{row["exact_match"]:.1f} ±{(high - low) / 2:.1f}'


def _refusals(run_dir: str) -> Iterator[str]:
  """Yields how the best model refuses."""
  path = f'eval/realm_all/{HYBRID}/metrics.json'
  sets = json.loads(_text(run_dir, path))['sets']
  yield f'"{names.REFUSED}" REALM with BM25 says so for'
  share = sets['test_questions']['refused_answerable']
  yield f'  {share:.1f} % of the questions whose answer is in the articles,'
  for name, kind in _IMPOSSIBLE.items():
    yield f'  {sets[name]["refused_impossible"]:.1f} % of those {kind}'


def _examples(run_dir: str) -> Iterator[str]:
  """Yields three questions of the page, which it answers rightly."""
  yield 'Questions to try:'
  path = os.path.join(run_dir, recipe_result.EXAMPLES)
  questions = recipe_result.read_examples(path)['questions']
  yield from (f'  {question}' for question in questions[:3])


def _changed_fact(run_dir: str) -> Iterator[str]:
  """Yields the answer after a change of one article, with its source."""
  change = json.loads(_text(run_dir, 'changed/changed.json'))
  yield (
    f'With {change["new_answer"]} in place of {change["old_answer"]} in the '
    'article, and no training:'
  )
  answered = _text(run_dir, 'changed/answer/predictions.jsonl')
  for row in map(json.loads, answered.splitlines()):
    source = ''.join(f'from "{e["title"]}", ' for e in row['evidence'][:1])
    right = 'right' if row['exact_match'] else 'wrong'
    answer = row['prediction'] or '-'
    if row['is_refused']:
      answer = f'{names.REFUSED} Best guess: {answer}'
    yield f'  {row["question"]} {answer} ({source}{right})'


def _command(module: str) -> str:
  """Returns the command of a module, as installed or in a checkout."""
  if __package__ == 'launch':
    return f'{os.path.relpath(sys.executable)} -m {module}'
  return f'realm-{module.partition(".")[2].replace("_", "-")}'


def _text(run_dir: str, name: str) -> str:
  return pathlib.Path(run_dir, name).read_text(encoding='utf-8')
