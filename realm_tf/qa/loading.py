"""A model directory, an index and a corpus -> an answerer.

`load` opens the files, from the model directory down; `answerers_of` makes
calibration, search and reader of an open model; `over_model` does the same for
a model in memory, such as one in training.
"""

from collections.abc import Callable, Sequence
import dataclasses
from typing import Any, NamedTuple, Optional, TypeVar

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import interfaces
from realm_tf.config import names
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import block_table
from realm_tf.index import model_files
from realm_tf.index import storage
from realm_tf.model import precision
from realm_tf.model import realm_model
from realm_tf.qa import answerer as answerer_lib
from realm_tf.qa import calibration
from realm_tf.qa import outcome as outcome_lib
from realm_tf.qa import reading
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.retrieval import retrievers
from realm_tf.retrieval import word_search
from realm_tf.run import layout
from realm_tf.run import manifests
from realm_tf.run import versions
from realm_tf.text import wordpiece

SparseBuilder = Callable[[block_table.BlockTable], interfaces.Retriever]

_Reader = TypeVar('_Reader')


class Choices(NamedTuple):
  """Settings of an answerer; None takes the value of the model's config.

  Attributes:
    answer_by: 'span' or 'text'.
    reader_dir: Another model directory: its reader, with its own config, reads
      the blocks (Table 2).
    sparse_weight: Factor of BM25's scores in the sum with the embeddings'
      scores; with 0 no BM25 is built.
    read_dtype: Dtype of the reader's matmuls: 'float32', 'bfloat16' or 'auto'.
    retriever: A name in `retrievers`.
    threshold: As in `calibration.Confidence`.
  """

  num_read: Optional[int] = None
  answer_by: Optional[str] = None
  reader_dir: Optional[str] = None
  sparse_weight: float = 0.0
  read_dtype: str = 'auto'
  retriever: str = names.MODEL
  threshold: Optional[float] = None


DEFAULT_CHOICES = Choices()


def load(
  model_dir: str,
  corpus_dir: str,
  index_dir: Optional[str] = None,
  retriever: str = names.MODEL,
) -> model_files.OpenModel:
  """Opens the newest parameters with an index of the corpus.

  Opens the EMBEDDER part, and SPAN and PATH if the model has them. Raises
  UserError if a part is missing or damaged, or parts do not belong together.

  Args:
    index_dir: An index version, or a directory of versions; by default the
      model directory's newest.
    retriever: A search by words needs no index: the model may have none.
  """
  opened = model_files.open_model(
    model_dir,
    [realm_model.EMBEDDER],
    optional=[realm_model.SPAN, realm_model.PATH],
    table=block_table.BlockTable.open(corpus_dir),
  )
  if retriever in names.BY_WORDS and not (index_dir or opened.newest_index):
    return opened
  return opened.with_index(index_dir)


def load_closed_book(
  model_dir: str, corpus_dir: str
) -> answerer_lib.ClosedBook:
  """Opens a model directory of bin.train_closed_book.

  Raises UserError for another kind of model, or another vocabulary than the
  corpus.
  """
  table = block_table.BlockTable.open(corpus_dir)
  opened = model_files.open_model(model_dir, [realm_model.SEQ2SEQ], table=table)
  config = opened.config.closed_book
  return answerer_lib.ClosedBook(opened.model, opened.tokenizer, config, table)


def load_answerer(
  model_dir: str,
  corpus_dir: str,
  index_dir: Optional[str] = None,
  choices: Choices = DEFAULT_CHOICES,
) -> answerer_lib.Answerer:
  """Makes an answerer of the model that `load` opens; it may lack a reader."""
  loaded = load(model_dir, corpus_dir, index_dir, choices.retriever)
  return answerer_of(loaded, choices)


def answerer_of(
  loaded: model_files.OpenModel,
  choices: Choices = DEFAULT_CHOICES,
  build_sparse: SparseBuilder = word_search.over_table,
) -> answerer_lib.Answerer:
  """Returns an answerer; calls `build_sparse` if `choices` need BM25."""
  weights = [choices.sparse_weight]
  return answerers_of(loaded, choices, weights, build_sparse)[0]


def answerers_of(
  loaded: model_files.OpenModel,
  choices: Choices,
  sparse_weights: Sequence[float],
  build_sparse: SparseBuilder = word_search.over_table,
) -> list[answerer_lib.Answerer]:
  """Returns an answerer for each weight of BM25; they share all but it."""
  shares = len(sparse_weights) > 1
  model, finetuning = choose_reader(loaded, choices)
  is_sparse = choices.retriever == names.BM25
  needs_words = is_sparse or any(sparse_weights)
  words = build_sparse(loaded.table) if needs_words else None
  retriever: interfaces.Retriever = retriever_lib.InBatches(
    (is_sparse and words)
    or retrievers.open(
      choices.retriever, loaded.table, loaded, is_shared=shares
    ),
    finetuning.eval_batch_size,
    filled=choices.retriever not in names.BY_WORDS,
  )
  reader = None
  if model:
    score = reading.fastest_score(
      model, choices.read_dtype, loaded.config.index.embed_backend
    )
    reader = reading.PairReader(
      reading.KeptScore(score) if shares else score,
      model.config.max_span_width,
      loaded.tokenizer.special_ids,
      finetuning,
    )
  answerers = []
  for weight in sparse_weights:
    answerer = answerer_lib.Answerer(
      loaded.tokenizer,
      loaded.table,
      retriever,
      reader,
      loaded.config.lengths,
      finetuning,
      confidence_of(loaded, choices._replace(sparse_weight=weight), finetuning),
    )
    if words and weight:
      answerer = with_sparse(answerer, words, weight)
    answerers.append(answerer)
  return answerers


def confidence_of(
  loaded: model_files.OpenModel,
  choices: Choices,
  finetuning: config_lib.FinetuningConfig,
) -> calibration.Confidence:
  """Returns how sure a model's answers are, with its calibration, if any."""
  found = calibration.read(loaded.path, setting_of(choices, finetuning))
  return calibration.Confidence(found, choices.threshold)


def setting_of(
  choices: Choices, finetuning: config_lib.FinetuningConfig
) -> calibration.Setting:
  """Returns the setting that a calibration is for."""
  reader = ''
  if choices.reader_dir:
    newest = versions.newest(layout.params_root(choices.reader_dir))
    if newest:
      manifest = manifests.read(newest.path, versions.KIND)
      reader = manifest['params_fingerprint']
  return {
    'retriever': choices.retriever,
    'sparse_weight': choices.sparse_weight,
    'num_read': finetuning.num_read,
    'answer_by': finetuning.answer_by,
    'reader': reader,
  }


def with_sparse(
  answerer: answerer_lib.Answerer, sparse: interfaces.Retriever, weight: float
) -> answerer_lib.Answerer:
  """Adds `weight` times BM25's scores to the scores of the search."""
  hybrid = retriever_lib.Hybrid(answerer.retriever, sparse, weight=weight)
  size = answerer.finetuning.eval_batch_size  # Bounds the memory of the sums.
  retriever = retriever_lib.InBatches(hybrid, size, filled=False)
  return dataclasses.replace(answerer, retriever=retriever)


def choose_reader(
  loaded: model_files.OpenModel, choices: Choices
) -> tuple[Optional[realm_model.RealmModel], config_lib.FinetuningConfig]:
  """Returns the model that reads, or None, and its config."""
  model = loaded.model if realm_model.SPAN in loaded.parts else None
  finetuning = loaded.config.finetuning
  if choices.reader_dir:
    reader = model_files.open_model(
      choices.reader_dir,
      [realm_model.SPAN],
      table=loaded.table,
      flag='--reader_dir',
    )
    model, finetuning = reader.model, reader.config.finetuning
  if choices.num_read:
    finetuning = dataclasses.replace(
      finetuning,
      num_read=choices.num_read,
      num_searched=max(choices.num_read, finetuning.num_searched),
    )
  if choices.answer_by:
    finetuning = dataclasses.replace(finetuning, answer_by=choices.answer_by)
  return model, finetuning


def require_reader(reader: Optional[_Reader], model_dir: str) -> _Reader:
  """Returns a span reader; UserError if there is none."""
  if reader is None:
    raise errors.UserError(
      '--model_dir must hold a model that reads answers. Found none in '
      f'{model_dir}. Make one with bin.finetune, or give a --reader_dir.'
    )
  return reader


def over_model(
  model: realm_model.RealmModel,
  search: interfaces.Searcher,
  table: block_table.BlockTable,
  tokenizer: wordpiece.WordpieceTokenizer,
  config: config_lib.ExperimentConfig,
) -> answerer_lib.Answerer:
  """Returns the answerer of a model in memory, such as one in training.

  Each call uses the current variables of the EMBEDDER and SPAN parts.
  """
  special_ids = tokenizer.special_ids
  return answerer_lib.Answerer(
    tokenizer,
    table,
    retriever_lib.InBatches(
      retrievers.over_model(
        model, search, config.lengths.query_tokens, special_ids
      ),
      config.finetuning.eval_batch_size,
    ),
    reading.PairReader(
      reading.tensorflow_score(model, precision.choose('auto')),
      model.config.max_span_width,
      special_ids,
      config.finetuning,
    ),
    config.lengths,
    config.finetuning,
  )


class Validator:
  """Measures a model in training: fine-tuning picks parameters by exact match.

  It measures like `bin.evaluate`, on at least one question. `retriever`
  replaces the model's own search.
  """

  def __init__(
    self,
    questions: Sequence[questions_lib.Question],
    table: block_table.BlockTable,
    tokenizer: wordpiece.WordpieceTokenizer,
    config: config_lib.ExperimentConfig,
    retriever: Optional[interfaces.Retriever] = None,
  ):
    self.questions = questions
    self._setting = table, tokenizer, config
    self._retriever = retriever
    self._answerer: Optional[answerer_lib.Answerer] = None

  def __call__(
    self, model: realm_model.RealmModel, index: Optional[storage.Index]
  ) -> float:
    """Returns the exact match of the current parameters, in percent.

    Model and index must be the same objects in every call.
    """
    if self._answerer is None:
      search: Any = index.searcher if index else None  # Not used without one.
      answerer = over_model(model, search, *self._setting)
      retriever = self._retriever or answerer.retriever
      self._answerer = dataclasses.replace(answerer, retriever=retriever)
    answers = self._answerer.answer([q.question for q in self.questions], 1)
    predictions = [answer.prediction for answer in answers]
    exact = outcome_lib.quality(predictions, self.questions).exact
    return 100 * float(exact.mean())
