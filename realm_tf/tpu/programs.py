"""The programs that jobs compile for their devices, for any config.

  config -> build -> programs -> lower -> HLO modules

Each has the shapes of one core's part of a batch, untrimmed, and its sums over
cores, as under TPUStrategy. Arguments are shapes; only variables have values.
"""

from collections.abc import Iterator, Mapping
from concurrent import futures
import dataclasses
import multiprocessing
from typing import Any

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import process
from realm_tf.index import embedding
from realm_tf.model import precision
from realm_tf.model import realm_model
from realm_tf.retrieval import device_retriever
from realm_tf.tpu import chips
from realm_tf.tpu import lowering
from realm_tf.training import closed_book_trainer
from realm_tf.training import finetuning
from realm_tf.training import inverse_cloze_trainer
from realm_tf.training import optimizer as optimizer_lib
from realm_tf.training import pretraining_trainer
from realm_tf.training import taggers

_VOCABULARY = 30_522  # BERT's, for a config without a size.
_SPECIAL_IDS = (101, 102)  # BERT's [CLS] and [SEP]; any two would do.
_SPARE_HITS = 2  # Of a search, as in pretraining_batches.
_NUM_LABELS = 9  # Of CoNLL-2003: B and I of four types, and O.

# What costs most comes first.
NAMES = (
  'pretraining',
  'finetuning',
  'inverse_cloze',
  'tagger',
  'closed_book',
  'block_embedding',
  'retrieval',
)

_Programs = Iterator[lowering.Program]


def build(
  name: str,
  config: config_lib.ExperimentConfig,
  num_cores: int,
  num_blocks: int,
) -> list[lowering.Program]:
  """Returns the programs of a name of `NAMES`, for one of `num_cores` cores.

  The name 'block_embedding' has one for each length of a batch.

  Raises:
    UserError: The cores cannot share the batch equally.
  """
  model = config.model
  if not model.reader_bert.vocab_size:
    model = realm_model.with_vocab_size(model, _VOCABULARY)
  changes: dict[str, Any] = {}
  if not model.seq2seq.vocab_size:  # TensorFlow aborts at no wordpieces.
    changes['seq2seq'] = dataclasses.replace(
      model.seq2seq, vocab_size=model.reader_bert.vocab_size
    )
  if model.train_dtype == 'auto':
    changes['train_dtype'] = 'bfloat16'
  config = dataclasses.replace(
    config, model=dataclasses.replace(model, **changes)
  )
  planner = _Planner(config, num_cores, num_blocks)
  with lowering.OneOfMany(num_cores).scope():
    return [*getattr(planner, name)()]


def lower(
  name: str,
  config: config_lib.ExperimentConfig,
  where: chips.Slice,
  num_blocks: int,
) -> list[lowering.Program]:
  """Returns the lowered programs of a name of `NAMES` for a slice.

  Lowering takes gigabytes, which the compiler needs next, and TensorFlow ends
  the process at a program that it cannot lower: it has a process of its own. A
  new process also gives a program the same module each time, so that its
  compilation is found again.

  Raises:
    UserError: The cores cannot share the batch, or the process ended.
  """
  context = multiprocessing.get_context('spawn')
  with futures.ProcessPoolExecutor(1, context, process.end_with_parent) as pool:
    try:
      of_core = name, config, where.num_cores, num_blocks
      return pool.submit(_lower, where.name, *of_core).result()
    except futures.BrokenExecutor as error:
      raise errors.UserError(
        f'{name} must be lowered by TensorFlow. Found that its process ended, '
        'killed for memory or with the message above. Give more memory, or '
        'other --programs.'
      ) from error


def _lower(kind: str, *of_core: Any) -> list[lowering.Program]:
  with precision.planned_for_tpu(kind):
    return [lowering.lower(each) for each in build(*of_core)]


@dataclasses.dataclass(frozen=True)
class _Planner:
  """Yields the programs of one config; a method for each of `NAMES`."""

  config: config_lib.ExperimentConfig
  num_cores: int
  num_blocks: int

  def pretraining(self) -> _Programs:
    config, lengths = self.config.pretraining, self.config.lengths
    size = self._share('pretraining')
    k, masked = config.num_candidates, lengths.max_masked
    batch = {
      'query_ids': _ids(size, lengths.query_tokens - 2),
      'masked_positions': _ids(size, masked),
      'gold_ids': _ids(size, masked),
      'token_mask': tf.TensorSpec([size, masked]),
      'candidate_ids': _ids(size, k),
      'is_real': tf.TensorSpec([size, k], tf.bool),
      'title_ids': _ids(size, k, lengths.title_tokens),
      'body_ids': _ids(size, k, lengths.block_tokens),
    }
    if config.inverse_cloze_weight:
      batch['cloze_ids'] = _ids(size, k - 1, lengths.query_tokens - 2)
    trainer = pretraining_trainer.PretrainingTrainer(
      optimizer_lib.create(config.optimizer),
      self._model(realm_model.MASKED_LM, realm_model.EMBEDDER),
      self.config,
      special_ids=_SPECIAL_IDS,
    )
    yield self._step('pretraining', trainer, batch)

  def inverse_cloze(self) -> _Programs:
    config, lengths = self.config.inverse_cloze, self.config.lengths
    size = self._share('inverse_cloze')
    trainer = inverse_cloze_trainer.InverseClozeTrainer(
      optimizer_lib.create(config.optimizer),
      self._model(realm_model.EMBEDDER),
      config,
      lengths=lengths,
      special_ids=_SPECIAL_IDS,
    )
    batch = {
      'query_ids': _ids(size, config.query_tokens - 2),
      'title_ids': _ids(size, lengths.title_tokens),
      'body_ids': _ids(size, lengths.block_tokens),
    }
    yield self._step('inverse_cloze', trainer, batch)

  def finetuning(self) -> _Programs:
    config, lengths = self.config.finetuning, self.config.lengths
    size = self._share('finetuning')
    searched = [size, config.num_searched]
    longest = min(lengths.block_tokens, config.joint_tokens)
    read = [size, config.num_read, longest]
    widths = self.config.model.max_span_width
    batch = {
      'question_ids': _ids(size, lengths.question_tokens),
      'block_embeddings': tf.TensorSpec(
        [*searched, self.config.model.embedding_width]
      ),
      'has_answer': tf.TensorSpec(searched, tf.bool),
      'is_compared': tf.TensorSpec(searched, tf.bool),
      'read_rows': _ids(size, config.num_read),
      'title_ids': _ids(size, config.num_read, lengths.title_tokens),
      'body_ids': _ids(*read),
      'is_answer': tf.TensorSpec([*read, widths], tf.bool),
    }
    if config.null_spans:
      batch['is_impossible'] = tf.TensorSpec([size], tf.bool)
    trainer = finetuning.FinetuningTrainer(
      optimizer_lib.create(config.optimizer),
      self._model(realm_model.EMBEDDER, realm_model.SPAN),
      self.config,
      special_ids=_SPECIAL_IDS,
    )
    yield self._step('finetuning', trainer, batch)

  def tagger(self) -> _Programs:
    config = self.config.tagger
    trainer = taggers.TaggerTrainer(
      optimizer_lib.create(config.optimizer),
      taggers.TokenTagger(self.config.model.reader_bert, _NUM_LABELS),
      _SPECIAL_IDS,
    )
    ids = _ids(self._share('tagger'), config.max_tokens - 2)
    yield self._step('tagger', trainer, {'ids': ids, 'label_ids': ids})

  def closed_book(self) -> _Programs:
    config, size = self.config.closed_book, self._share('closed_book')
    trainer = closed_book_trainer.ClosedBookTrainer(
      optimizer_lib.create(config.optimizer), self._model(realm_model.SEQ2SEQ)
    )
    batch = {
      'input_ids': _ids(size, config.input_tokens),
      'target_ids': _ids(size, config.answer_tokens),
    }
    yield self._step('closed_book', trainer, batch)

  def block_embedding(self) -> _Programs:
    """Embedding of blocks by a refresher on the slice, at each length."""
    dtype, lengths = self.config.index.embed_dtype, self.config.lengths
    embed = embedding.compile_blocks(
      self._model(realm_model.EMBEDDER),
      _SPECIAL_IDS,
      'bfloat16' if dtype == 'auto' else dtype,
    )
    for size, length in embedding.full_batches(lengths):
      share = -(-size // self.num_cores)
      yield lowering.Program(
        f'block_embedding_{length}',
        lambda titles, bodies, length=length: embed(titles, bodies, length),
        (_ids(share, lengths.title_tokens), _ids(share, length)),
        share,
        ('index.embed_dtype=bfloat16', 'a smaller lengths.block_tokens'),
      )

  def retrieval(self) -> _Programs:
    """Embedding of a batch of queries and search of the devices' blocks."""
    config, lengths = self.config.pretraining, self.config.lengths
    size, k = self._share('pretraining'), config.num_candidates + _SPARE_HITS
    retriever = device_retriever.DeviceRetriever(
      tf.distribute.get_strategy(), self.config, _SPECIAL_IDS, self.num_blocks
    )
    yield lowering.Program(
      'retrieval',
      lambda query_ids: retriever.distributed(query_ids, k),
      (_ids(size, lengths.query_tokens - 2),),
      size,
      (
        'index.storage_dtype=bfloat16',
        'index.searcher=scann',
        'a slice with more cores',
      ),
      self.num_cores,
    )

  def _share(self, section: str) -> int:
    """Returns a core's part of a section's batch."""
    batch_size = getattr(self.config, section).batch_size
    if batch_size % self.num_cores:
      raise errors.UserError(
        f'{section}.batch_size must be a multiple of the cores. Found a batch '
        f'of {batch_size} and {self.num_cores} cores. Set it, or give a '
        'smaller slice.'
      )
    return batch_size // self.num_cores

  def _model(self, *parts: str) -> realm_model.RealmModel:
    return realm_model.RealmModel(
      self.config.model, parts, null_spans=self.config.finetuning.null_spans
    )

  def _step(
    self, section: str, trainer: Any, batch: Mapping[str, Any]
  ) -> lowering.Program:
    trainer.seed_dropout(self.config.seed)
    model, size = self.config.model, self._share(section)
    is_whole = section == 'inverse_cloze' and (
      not self.config.inverse_cloze.chunk_size
    )
    remedies = {
      'model.train_dtype=bfloat16': model.train_dtype == 'float32',
      'model.recompute_activations=true': not model.recompute_activations,
      f'inverse_cloze.chunk_size={max(1, size // 8)}': is_whole,
      f'a smaller {section}.batch_size': True,
      'a slice with more cores': True,
    }
    return lowering.Program(
      section,
      trainer.distributed_step,
      (dict(batch), tf.TensorSpec([])),
      size,
      tuple(each for each, helps in remedies.items() if helps),
      self.num_cores,
    )


def _ids(*shape: int) -> tf.TensorSpec:
  return tf.TensorSpec(shape, tf.int32)
