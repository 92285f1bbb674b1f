"""Sizes, steps and times of `own_text`: a survey of the text -> a plan."""

import json
import math
import os
from typing import Any, NamedTuple

_PIECES_OF_WORD = 1.35
_BLOCK_TOKENS = 48, 100  # Shortest and longest blocks.
_QUESTION_TOKENS, _TITLE_TOKENS = 40, 16
_FILLED = 0.8  # Wordpieces of a batch that are no padding.
_CANDIDATES = 6
_REFRESHES = 50  # Steps between two indexes of REALM.
# More blocks are not embedded again and again: training reads a part of them.
_PRACTICE_BLOCKS = 30_000
_FEWEST_SENTENCES = 30  # With a name that recurs, to train a reader.
_FEWEST_MEASURED = 20  # Held-out sentences, or questions to train on.
_MANY_WORDS = 300_000  # Random weights are larger above.
_LARGE_WORK = 8  # Work of large random weights over work of small ones.
_EMBEDDING = 0.25  # Time of a forward pass over time to train.
_STAGE_SECS = 12  # Seconds of a stage before and after its work.


class Amount(NamedTuple):
  """Training as passes over its examples, within a smallest and a largest."""

  passes: float
  batch_size: int
  fewest: int
  most: int

  def steps(self, num_examples: float) -> int:
    """Returns the number of steps for so many examples."""
    steps = round(self.passes * num_examples / self.batch_size)
    return min(max(steps, self.fewest), self.most)


# Stage -> its amount. An imported encoder forgets in many steps.
_IMPORTED = {
  'embedders': Amount(2, 64, 30, 300),
  'reader': Amount(2, 32, 50, 500),
  'realm': Amount(1, 16, 40, 300),
  'span_reader': Amount(1.5, 16, 60, 560),
  'towers': Amount(3, 32, 50, 700),
  'gold': Amount(3, 16, 100, 1800),
  'qa': Amount(1, 16, 50, 560),
}
_RANDOM = {
  'embedders': Amount(20, 64, 60, 600),
  'reader': Amount(10, 32, 150, 2000),
  'realm': Amount(3, 16, 40, 600),
  'span_reader': Amount(8, 16, 150, 1500),
  'towers': Amount(10, 32, 100, 700),
  'gold': Amount(10, 16, 200, 1800),
  'qa': Amount(3, 16, 50, 560),
}


class Found(NamedTuple):
  """The fields of survey.json, from bin.survey, that a plan needs.

  Attributes:
    long_article: Words that nine tenths of the articles do not exceed.
    num_sentences: Sentences with a name or a date.
    num_recurring: Sentences with a name or a date that recurs elsewhere.
    held_out_share: `held_out.share` that holds out a tenth of the titles.
    train_secs: Seconds of one core to train the encoder on a wordpiece.
  """

  num_articles: int
  num_words: int
  long_article: int
  num_sentences: int
  num_recurring: int
  held_out_share: float
  num_train_questions: int
  num_held_out_questions: int
  train_secs: float

  @classmethod
  def read(cls, directory: str) -> 'Found':
    """Reads the --output_dir of bin.survey."""
    with open(os.path.join(directory, 'survey.json'), encoding='utf-8') as file:
      fields = json.load(file)
    return cls(**{name: fields[name] for name in cls._fields})


class Plan(NamedTuple):
  """Sizes and stages of `own_text` for a text.

  Attributes:
    changes: Fields of the config that depend on the text, by section.
    steps: Steps of each training stage; stages that are left out are missing.
    practice_articles: Articles that training without questions reads; 0 is all.
    num_blocks: Blocks of the whole text, an estimate.
    held_out_share: Share of articles whose sentences only measure, or 0.
    is_small: False for random weights of the large size.
    notes: Sentences about parts that the text is too small for.
  """

  changes: dict[str, Any]
  steps: dict[str, int]
  practice_articles: int
  num_blocks: int
  held_out_share: float
  is_small: bool
  notes: list[str]

  @property
  def block_tokens(self) -> int:
    """Most wordpieces of a block."""
    return self.changes['lengths']['block_tokens']

  @property
  def practice_blocks(self) -> int:
    """Blocks that training without questions reads."""
    return min(self.num_blocks, _PRACTICE_BLOCKS)


def make(found: Found, is_imported: bool) -> Plan:
  """Plans for a text and an imported encoder, or random weights."""
  num_questions = found.num_train_questions
  block_tokens = _block_tokens(found)
  num_blocks = _num_blocks(found, block_tokens)
  part = min(1.0, _PRACTICE_BLOCKS / num_blocks)
  recurring = part * found.num_recurring
  held_out = part * found.held_out_share * found.num_sentences
  numbers = {'embedders': part * num_blocks}
  notes = []
  if recurring >= _FEWEST_SENTENCES:
    sentences = part * found.num_sentences
    numbers |= {'reader': sentences, 'realm': sentences}
    numbers |= {'span_reader': recurring}
  else:
    notes.append(
      f'Only {recurring:.0f} sentences have a name or a date that recurs: no '
      'reader learns from the text, and no masked sentence is completed.'
    )
  if num_questions >= _FEWEST_MEASURED:
    numbers |= dict.fromkeys(('towers', 'gold', 'qa'), num_questions)
  elif num_questions:
    notes.append(f'{num_questions} questions are too few to train on.')
  share = found.held_out_share
  if held_out < _FEWEST_MEASURED or 'realm' not in numbers:
    share = 0.0
    notes.append(
      f'A tenth of the articles has about {held_out:.0f} sentences with a name '
      f'or a date, and {_FEWEST_MEASURED} would measure a search: none is held '
      'out.'
    )
  amounts = _IMPORTED if is_imported else _RANDOM
  steps = {name: amounts[name].steps(n) for name, n in numbers.items()}
  return Plan(
    _changes(block_tokens, num_blocks, steps, share),
    steps,
    round(part * found.num_articles) if part < 1 else 0,
    num_blocks,
    share,
    is_imported or found.num_words < _MANY_WORDS,
    notes,
  )


def seconds(plan: Plan, train_secs: float) -> dict[str, float]:
  """Returns seconds of one core for each part of the work.

  `train_secs` are for one wordpiece, there and back, of the small size.
  """
  lengths = plan.changes['lengths']
  block, query = lengths['block_tokens'], lengths['query_tokens']
  pair = block + query
  tokens = {
    'embedders': block + query,
    'reader': pair,
    'realm': _CANDIDATES * (pair + block) + query,
    'span_reader': pair,
    'towers': block + _QUESTION_TOKENS,
    'gold': block + _QUESTION_TOKENS,
    'qa': 2 * (block + _QUESTION_TOKENS),
  }
  piece = _FILLED * train_secs * (1 if plan.is_small else _LARGE_WORK)
  result = {
    name: steps * _RANDOM[name].batch_size * tokens[name] * piece + _STAGE_SECS
    for name, steps in plan.steps.items()
  }
  index = block * piece * _EMBEDDING
  refreshes = 2 + plan.steps.get('realm', 0) / _REFRESHES
  result['indexes'] = index * plan.practice_blocks * refreshes
  if 'towers' in plan.steps:
    number = 3 if plan.practice_articles else 1
    result['indexes'] += index * plan.num_blocks * number
  elif plan.practice_articles:
    result['indexes'] += index * plan.num_blocks
  result['blocks and measures'] = 3 * _STAGE_SECS + plan.num_blocks / 1000
  return result


def _block_tokens(found: Found) -> int:
  """Returns wordpieces of a block that holds most articles whole, if short."""
  shortest, longest = _BLOCK_TOKENS
  needed = _PIECES_OF_WORD * found.long_article + _TITLE_TOKENS
  return min(max(math.ceil(needed / 16) * 16, shortest), longest)


def _num_blocks(found: Found, block_tokens: int) -> int:
  body = _FILLED * (block_tokens - _TITLE_TOKENS / 2)
  return max(
    found.num_articles, round(_PIECES_OF_WORD * found.num_words / body)
  )


def _changes(
  block: int, num_blocks: int, steps: dict[str, int], share: float
) -> dict[str, Any]:
  """Returns the fields of a config, by section, for a text."""
  query = min(block, 64)
  few = max(1, num_blocks // 2)
  return {
    'lengths': {
      'query_tokens': query,
      'block_tokens': block,
      'joint_tokens': block + query,
      'question_tokens': _QUESTION_TOKENS,
      'title_tokens': _TITLE_TOKENS,
    },
    'held_out': {'share': share},
    'inverse_cloze': {
      'optimizer': {'num_steps': steps['embedders']},
      'batch_size': min(64, max(2, few)),
    },
    'pretraining': {
      'optimizer': {'num_steps': steps.get('realm', 1)},
      'num_candidates': min(_CANDIDATES, few + 1),
      'refresh_every_steps': _REFRESHES,
    },
    'finetuning': {
      'joint_tokens': block + _QUESTION_TOKENS,
      'num_searched': min(100, few),
    },
  }
