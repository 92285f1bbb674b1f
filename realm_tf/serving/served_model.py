"""What one load gives: an answerer, warm, and its corpus to edit."""

from typing import NamedTuple, Optional

from realm_tf.answering import answerer as answerer_lib
from realm_tf.answering import loading
from realm_tf.retrieval import bm25
from realm_tf.serving import corpus_edits


class Source(NamedTuple):
  """Where a model comes from: the arguments of `loading.load_answerer`."""

  model_dir: str
  corpus_dir: str
  index_dir: Optional[str] = None
  choices: loading.Choices = loading.OWN


class ServedModel(NamedTuple):
  """A model to answer with.

  Attributes:
    answerer: With a reader.
    edits: None unless texts may be changed.
  """

  answerer: answerer_lib.Answerer
  edits: Optional[corpus_edits.EditedCorpus]


def load(
  source: Source,
  allow_edits: bool = False,
  build_sparse: loading.SparseBuilder = bm25.over_table,
) -> ServedModel:
  """Opens a model and warms it.

  Args:
    source: Where it is.
    allow_edits: Whether its texts may be changed.
    build_sparse: See `loading.answerer_of`; one that keeps what it built saves
      that when the next model of the same corpus is loaded.

  Raises:
    UserError: See `loading.load_answerer`; or it has no reader.
  """
  loaded = loading.load(source.model_dir, source.corpus_dir, source.index_dir)
  edits = None
  if allow_edits:
    edits = corpus_edits.EditedCorpus(loaded)
    loaded = loaded._replace(table=edits.table, retriever=edits.retriever)
  answerer = loading.answerer_of(loaded, source.choices, build_sparse)
  loading.require_reader(answerer.reader is not None, source.model_dir)
  warm(answerer)
  if edits is not None:
    edits.warm()
  return ServedModel(answerer, edits)


def adopt(new: ServedModel, old: ServedModel) -> None:
  """Gives `new` the texts that were changed in `old`."""
  if new.edits is not None and old.edits is not None:
    new.edits.adopt(old.edits.table.changed)


def warm(answerer: answerer_lib.Answerer) -> None:
  """Answers a question at each size that a batch may have.

  A searcher may be compiled for each, and no client shall wait for that.
  """
  full = answerer.finetuning.eval_batch_size
  question = ' '.join(answerer.table.titles([0])) or '?'
  sizes = [1 << power for power in range(full.bit_length())]
  for size in {*(size for size in sizes if size < full), full}:
    answerer.answer([question] * size, 1)
