"""Flags of binaries that answer questions with a model and its index."""

from __future__ import annotations

from collections.abc import Sequence

from . import launcher

from absl import flags

from realm_tf.config import names
from realm_tf.exchange import import_cache
from realm_tf.qa import answerer
from realm_tf.qa import loading
from realm_tf.run import recipe_result

MODEL_DIR = launcher.existing_path(
  'model_dir', 'Model directory, any run directory, or RUN_DIR of a recipe.'
)


def _use_recipe_result(model_dir: str | None) -> bool:
  """Takes flags that are not given from realm.json, if MODEL_DIR has one."""
  given = {name for name in flags.FLAGS if flags.FLAGS[name].present}
  given.discard(MODEL_DIR.name)
  for name, value in recipe_result.read(model_dir or '', given).items():
    if name in flags.FLAGS:
      flag = flags.FLAGS[name]
      flag.value = [value] if isinstance(flag.value, list) else value
  return True


flags.register_validator(MODEL_DIR.name, _use_recipe_result)
INDEX_DIR = launcher.existing_path(
  'index_dir', "Index version to search; by default the model's newest."
)
flags.DEFINE_integer(
  'num_read', None, "Blocks to read; by default the config's number.", 1
)
flags.DEFINE_enum(
  'answer_by',
  None,
  ['span', 'text'],
  "The best span, or the text with the largest sum of its spans' "
  "probabilities; by default the config's choice.",
)
READER_DIR = launcher.existing_path(
  'reader_dir',
  'Model directory or hf:DIR that reads the blocks of --model_dir.',
)
launcher.check_flags(
  lambda model_dir, reader_dir: model_dir or not reader_dir,
  '--reader_dir needs --model_dir, a model with the same vocabulary.',
)


def define_search(*others: str, may_lack_model: bool = False) -> None:
  """Defines the flags of binaries that search with a model, and read.

  Args:
    others: More values of --retriever.
    may_lack_model: Defines the flags of bin.evaluate: several weights, and no
      model for a search by words.
  """
  flags.DEFINE_enum(
    'retriever',
    names.MODEL,
    [names.MODEL, *names.BY_LINKS, *names.BY_WORDS, *others],
    'Search; graph and path follow links.',
  )
  define = flags.DEFINE_multi_float if may_lack_model else flags.DEFINE_float
  define(
    'sparse_weight',
    0.0,
    "Weight of BM25's scores, added to the embeddings' scores. Try 0.5.",
    0.0,
  )
  flags.DEFINE_enum(
    'read_dtype',
    'auto',
    ['auto', 'float32', 'bfloat16'],
    "Dtype of the reader's matrix products; by default the faster one.",
  )
  flags.DEFINE_float(
    'threshold',
    None,
    'Least probability of an answer that is not refused; by default the '
    "calibration's, or the reader's null spans decide.",
    0.0,
    1.0,
  )
  if not may_lack_model:
    flags.mark_flag_as_required(MODEL_DIR.name)


def choices() -> loading.Choices:
  """Returns the flags that are named like a field of Choices."""
  fields = [name for name in loading.Choices._fields if name in flags.FLAGS]
  found = loading.Choices(**{name: flags.FLAGS[name].value for name in fields})
  reader_dir = found.reader_dir and import_cache.model_dir(found.reader_dir)
  return found._replace(reader_dir=reader_dir)


def load(
  corpus_dir: str, sparse_weights: Sequence[float]
) -> list[answerer.Answerer] | list[answerer.ClosedBook]:
  """Returns the answerers of the flags and of each weight of BM25."""
  model_dir = MODEL_DIR.value
  if choices().retriever == names.NOTHING:
    return [loading.load_closed_book(model_dir, corpus_dir)]
  loaded = loading.load(
    model_dir, corpus_dir, INDEX_DIR.value, choices().retriever
  )
  return loading.answerers_of(loaded, choices(), sparse_weights)
