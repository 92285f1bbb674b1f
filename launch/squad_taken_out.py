"""SQuAD's paragraphs and questions -> splits with paragraphs taken out.

A question whose paragraph is taken out is impossible. No article is in two
splits. Another paragraph may still hold the answer; `share_given` tells how
often it was given.
"""

from collections.abc import Iterable, Iterator
import gzip
import json
import pathlib
import random
from typing import Any, NamedTuple, TextIO

_Row = dict[str, Any]
KINDS = '', '_taken_out'  # Ends of the files' names.


class Sizes(NamedTuple):
  """Sizes of a split.

  Attributes:
    num_articles: Articles at most.
    share_out: Share of each article's paragraphs to take out.
    most: Answerable questions at most; their number of impossible ones is
      `most_out`.
  """

  num_articles: int
  share_out: float
  most: int
  most_out: int


def divide(
  corpora: list[str],
  questions: list[str],
  trained_on: str,
  sizes: dict[str, Sizes],
  seed: int,
  output_dir: str,
) -> None:
  """Writes articles.jsonl, and the questions of train, dev and test.

  An action of a stage.

  Args:
    corpora: Paragraphs of train, and of val, which dev and test divide.
    questions: Of both, with the `gold_id` of a paragraph.
    trained_on: Questions whose articles are left out, or ''.
  """
  draw = random.Random(seed)
  asked = _by((row for path in questions for row in rows(path)), 'gold_id')
  seen = {row['gold_id'] for row in rows(trained_on)} if trained_on else set()
  train, val = (_unseen(rows(path), seen, draw) for path in corpora)
  folder = pathlib.Path(output_dir)
  folder.mkdir(exist_ok=True)
  with _open(folder, 'articles') as corpus:
    for name, size in sizes.items():
      articles = train if name == 'train' else val
      kinds: list[list[_Row]] = [[], []]
      for _ in range(min(size.num_articles, len(articles))):
        paragraphs = articles.pop()
        draw.shuffle(paragraphs)
        num_out = round(size.share_out * len(paragraphs))
        for place, row in enumerate(paragraphs):
          kinds[place < num_out] += asked.get(row['id'], [])
        _write(paragraphs[num_out:], corpus)
      kinds[1] = [*map(_impossible, kinds[1])]
      for kind, found, most in zip(KINDS, kinds, size[2:], strict=True):
        with _open(folder, f'{name}{kind}') as file:
          _write(draw.sample(found, min(most, len(found))), file)


def share_given(questions: str, predictions: str) -> float:
  """Returns the percentage of impossible questions with their lost answer.

  Answers are compared word for word, but in any case.

  Args:
    questions: A file of `divide`.
    predictions: predictions.jsonl of these questions.
  """
  given = [
    row['prediction'].lower() in map(str.lower, question['lost_answers'])
    for question, row in zip(rows(questions), rows(predictions), strict=True)
  ]
  return 100 * sum(given) / len(given)


def rows(path: str) -> Iterator[_Row]:
  """Yields the objects of a file of JSON lines."""
  opened = gzip.open if path.endswith('.gz') else open
  with opened(path, 'rt', encoding='utf-8') as lines:
    yield from map(json.loads, lines)


def _impossible(row: _Row) -> _Row:
  lost = {'answers': [], 'is_impossible': True, 'lost_answers': row['answers']}
  return {**row, **lost}


def _unseen(
  found: Iterable[_Row], seen: set[str], draw: random.Random
) -> list[list[_Row]]:
  """Returns the paragraphs of each article without one of `seen`, shuffled."""
  articles = [
    paragraphs
    for paragraphs in _by(found, 'title').values()
    if seen.isdisjoint(row['id'] for row in paragraphs)
  ]
  draw.shuffle(articles)
  return articles


def _by(found: Iterable[_Row], key: str) -> dict[str, list[_Row]]:
  result: dict[str, list[_Row]] = {}
  for row in found:
    result.setdefault(row[key], []).append(row)
  return result


def _open(folder: pathlib.Path, name: str) -> TextIO:
  return (folder / f'{name}.jsonl').open('w', encoding='utf-8')


def _write(found: Iterable[_Row], file: TextIO) -> None:
  file.writelines(json.dumps(row) + '\n' for row in found)
