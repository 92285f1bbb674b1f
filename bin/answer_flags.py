"""Flags of binaries that answer questions with a model and its index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import input_flags
from . import launcher

from absl import flags

from realm_tf.answering import answerer
from realm_tf.answering import closed_book
from realm_tf.answering import loading
from realm_tf.config import names
from realm_tf.rundir import recipe_result

MODEL_DIR = input_flags.define(
  'model_dir', 'Model directory, any run directory, or RUN_DIR of a recipe.'
)


def _use_recipe_result(model_dir: str | None) -> bool:
  """Takes flags that are not given from realm.json, if MODEL_DIR has one."""
  for name, value in recipe_result.read(model_dir or '').items():
    if name not in flags.FLAGS:
      continue
    flag = flags.FLAGS[name]
    if name == MODEL_DIR.name or not flag.present:
      flag.value = [value] if isinstance(flag.value, list) else value
  return True


flags.register_validator(MODEL_DIR.name, _use_recipe_result)
INDEX_DIR = input_flags.define(
  'index_dir', "Index version to search; by default the model's newest."
)
flags.DEFINE_integer(
  'num_read',
  None,
  "Blocks read per question; by default the config's number.",
  1,
)
flags.DEFINE_enum(
  'answer_by',
  None,
  ['span', 'text'],
  "'span' answers with the best span, 'text' with the text of the largest "
  "summed probability over its spans. By default the config's choice.",
)
READER_DIR = input_flags.define(
  'reader_dir',
  'Model directory of another reader, for the blocks of --model_dir.',
)
launcher.check_flags(
  lambda model_dir, reader_dir: model_dir or not reader_dir,
  '--reader_dir needs --model_dir, a model with the same vocabulary.',
)


def define_search(define: Callable[..., Any] = flags.DEFINE_float) -> None:
  """Defines the flags of binaries that search and read themselves.

  Args:
    define: `flags.DEFINE_multi_float` for several weights.
  """
  define(
    'sparse_weight',
    0.0,
    "Weight of BM25's scores in a sum with the embeddings' scores: BM25 finds "
    'names and numbers unseen in training. Try 0.5; 0 is embeddings only.',
    0.0,
  )
  flags.DEFINE_enum(
    'read_dtype',
    'auto',
    ['auto', 'float32', 'bfloat16'],
    "Dtype of the reader's matrix products; 'auto' is bfloat16 where the "
    'hardware multiplies bfloat16 (in half the time), else float32.',
  )


def check_retriever() -> None:
  """Checks --retriever of bin.evaluate against the other flags."""
  launcher.check_flags(
    lambda model_dir, retriever: model_dir or retriever in names.BY_WORDS,
    '--model_dir must be given, unless --retriever is a search by words.',
  )
  launcher.check_flags(
    lambda retriever, sparse_weight: (
      retriever == names.MODEL or not any(sparse_weight)
    ),
    '--sparse_weight must go with --retriever=model, which it adds BM25 to.',
  )
  launcher.check_flags(
    lambda queries_dir, retriever: (
      not queries_dir or retriever != names.NOTHING
    ),
    '--queries_dir measures a search: leave out --retriever=none.',
  )


def choices() -> loading.Choices:
  """Returns the flags that are named like a field of Choices."""
  names = [name for name in loading.Choices._fields if name in flags.FLAGS]
  return loading.Choices(**{name: flags.FLAGS[name].value for name in names})


def load(
  sparse_weights: Sequence[float],
) -> list[answerer.Answerer] | list[closed_book.ClosedBook]:
  """Returns the answerers of the flags and of each weight of BM25."""
  model_dir, corpus_dir = MODEL_DIR.value, flags.FLAGS.corpus_dir
  if choices().retriever == names.NOTHING:
    return [closed_book.load(model_dir, corpus_dir)]
  loaded = loading.load(model_dir, corpus_dir, INDEX_DIR.value)
  return loading.answerers_of(loaded, choices(), sparse_weights)
