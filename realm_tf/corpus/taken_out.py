"""Articles in paragraphs, and their questions -> splits, some taken out.

A paragraph is a `sources.Article` whose title is its article's, as in SQuAD. A
question whose paragraph is taken out is impossible, unless another paragraph
happens to hold the answer.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
import random
from typing import NamedTuple, TypeVar

from realm_tf.corpus import questions as questions_lib
from realm_tf.corpus import sources

_T = TypeVar('_T')
_Question = questions_lib.Question
KINDS = '', '_taken_out'  # Ends of the names of questions.


class Split(NamedTuple):
  """Sizes of a split.

  Attributes:
    part: Index of the part whose articles it takes.
    num_articles: Articles at most.
    share_out: Share of each article's paragraphs to take out.
    most: Answerable questions at most.
    most_out: Impossible questions at most.
  """

  name: str
  part: int
  num_articles: int
  share_out: float
  most: int
  most_out: int


def divide(
  parts: Sequence[Iterable[sources.Article]],
  questions: Iterable[_Question],
  splits: Iterable[Split],
  *,
  seen: Collection[str] = (),
  seed: int = 0,
) -> tuple[list[sources.Article], dict[str, list[_Question]]]:
  """Returns the paragraphs that stay, and name -> questions of each split.

  No article is in two splits.

  Args:
    seen: Ids of paragraphs whose articles are left out.
  """
  draw = random.Random(seed)
  asked = _by(questions, lambda question: question.gold_id)
  left = [_unseen(part, seen, draw) for part in parts]
  kept: list[sources.Article] = []
  result = {}
  for split in splits:
    found: tuple[list[_Question], list[_Question]] = [], []
    articles = left[split.part]
    for _ in range(min(split.num_articles, len(articles))):
      paragraphs = articles.pop()
      draw.shuffle(paragraphs)
      num_out = round(split.share_out * len(paragraphs))
      for place, paragraph in enumerate(paragraphs):
        found[place < num_out].extend(asked.get(paragraph.article_id, []))
      kept += paragraphs[num_out:]
    for kind, chosen, most in zip(KINDS, found, split[-2:], strict=True):
      chosen = draw.sample(chosen, min(most, len(chosen)))
      if kind:
        chosen = [q._replace(answers=(), is_impossible=True) for q in chosen]
      result[f'{split.name}{kind}'] = chosen
  return kept, result


def _unseen(
  part: Iterable[sources.Article], seen: Collection[str], draw: random.Random
) -> list[list[sources.Article]]:
  """Returns the paragraphs of each article without one of `seen`, shuffled."""
  articles = [
    paragraphs
    for paragraphs in _by(part, lambda paragraph: paragraph.title).values()
    if not any(paragraph.article_id in seen for paragraph in paragraphs)
  ]
  draw.shuffle(articles)
  return articles


def _by(items: Iterable[_T], key: Callable[[_T], str]) -> dict[str, list[_T]]:
  result: dict[str, list[_T]] = {}
  for item in items:
    result.setdefault(key(item), []).append(item)
  return result
