"""Defines the flags of binaries that answer questions, and loads a model."""

from typing import Any

from . import corpus_flags
from . import reader_flags

from absl import flags

from realm_tf.answering import answerer
from realm_tf.answering import closed_book
from realm_tf.answering import loading
from realm_tf.retrieval import retrievers

_SPARSE_WEIGHT = flags.DEFINE_float(
  'sparse_weight',
  0.0,
  "Weight of BM25's scores, added to those of the embeddings: finds names and "
  'numbers that training never showed. Try 0.5; 0 is embeddings alone.',
  0.0,
)
_READ_DTYPE = flags.DEFINE_enum(
  'read_dtype',
  'auto',
  ['auto', 'float32', 'bfloat16'],
  "Dtype of the reader's matmuls; 'auto' is bfloat16 if the hardware "
  'multiplies it, in half the time.',
)


def arguments(
  model_dir: str, retriever: str = retrievers.MODEL
) -> dict[str, Any]:
  """Returns the flags as arguments of `loading.load_answerer`."""
  return {
    'model_dir': model_dir,
    'corpus_dir': corpus_flags.CORPUS_DIR.value,
    'index_dir': reader_flags.INDEX_DIR.value,
    'choices': reader_flags.choices()._replace(
      sparse_weight=_SPARSE_WEIGHT.value,
      read_dtype=_READ_DTYPE.value,
      retriever=retriever,
    ),
  }


def load(
  model_dir: str, retriever: str
) -> answerer.Answerer | closed_book.ClosedBook:
  """Returns the answerer that the flags and --retriever describe."""
  if retriever == retrievers.NOTHING:
    return closed_book.load(model_dir, corpus_flags.CORPUS_DIR.value)
  return loading.load_answerer(**arguments(model_dir, retriever))
