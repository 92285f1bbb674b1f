"""Flags of binaries that answer questions with a model and its index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import launcher
from . import path_flags

from absl import flags

from realm_tf.config import names
from realm_tf.qa import answerer
from realm_tf.qa import loading
from realm_tf.run import recipe_result

MODEL_DIR = path_flags.existing(
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
INDEX_DIR = path_flags.existing(
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
READER_DIR = path_flags.existing(
  'reader_dir', 'Model directory that reads the blocks of --model_dir.'
)
launcher.check_flags(
  lambda model_dir, reader_dir: model_dir or not reader_dir,
  '--reader_dir needs --model_dir, a model with the same vocabulary.',
)


def define_search() -> None:
  """Defines the flags of binaries that search with a model, and read."""
  _define_search(flags.DEFINE_float)
  flags.mark_flag_as_required(MODEL_DIR.name)


def _define_search(define_weight: Callable[..., Any]) -> None:
  define_weight(
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
    "Least probability of an answer that is not refused; by default the model's"
    ' calibration decides.',
    0.0,
    1.0,
  )


def define_searches() -> None:
  """Defines the flags of bin.evaluate: several weights, and maybe no model."""
  _define_search(flags.DEFINE_multi_float)
  launcher.check_flags(
    lambda model_dir, retriever: model_dir or retriever in names.BY_WORDS,
    '--model_dir must be given, unless --retriever is a search by words.',
  )
  launcher.check_flags(
    lambda retriever, sparse_weight: (
      retriever == names.MODEL or not any(sparse_weight)
    ),
    '--sparse_weight must go with --retriever=model.',
  )
  launcher.check_flags(
    lambda queries_dir, retriever: (
      not queries_dir or retriever != names.NOTHING
    ),
    '--queries_dir measures a search: leave out --retriever=none.',
  )


def choices() -> loading.Choices:
  """Returns the flags that are named like a field of Choices."""
  fields = [name for name in loading.Choices._fields if name in flags.FLAGS]
  return loading.Choices(**{name: flags.FLAGS[name].value for name in fields})


def load(
  sparse_weights: Sequence[float],
) -> list[answerer.Answerer] | list[answerer.ClosedBook]:
  """Returns the answerers of the flags and of each weight of BM25."""
  model_dir, corpus_dir = MODEL_DIR.value, flags.FLAGS.corpus_dir
  if choices().retriever == names.NOTHING:
    return [loading.load_closed_book(model_dir, corpus_dir)]
  loaded = loading.load(model_dir, corpus_dir, INDEX_DIR.value)
  return loading.answerers_of(loaded, choices(), sparse_weights)
