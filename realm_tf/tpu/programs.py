"""The programs that jobs compile for their devices, for any config.

  config -> build -> programs -> lower -> HLO modules

Each has the shapes of one core's part of a batch, untrimmed, and its sums over
cores, as under TPUStrategy. Arguments are shapes; only variables have values.
"""

from collections.abc import Mapping
from concurrent import futures
from concurrent.futures import process
import dataclasses
import multiprocessing
from typing import Any

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.data import joining
from realm_tf.index import embedding
from realm_tf.index import exact_search
from realm_tf.model import precision
from realm_tf.model import realm_model
from realm_tf.model import token_tagger
from realm_tf.tpu import chips
from realm_tf.tpu import lowering
from realm_tf.training import closed_book_trainer
from realm_tf.training import finetuning_trainer
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
  'query_embedding',
  'exact_search',
)

_Specs = dict[str, tf.TensorSpec]


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
  planner = _Planner(config, num_cores, num_blocks)
  strategy = lowering.OneOfMany(num_cores)
  with strategy.scope():
    made = getattr(planner, name)()
  return made if isinstance(made, list) else [made]


def lower(
  name: str,
  config: config_lib.ExperimentConfig,
  where: chips.Slice,
  num_blocks: int,
) -> list[lowering.Lowered]:
  """Returns the programs of a name of `NAMES` for a slice.

  Lowering takes gigabytes, which the compiler needs next, and TensorFlow ends
  the process at a program that it cannot lower: it has a process of its own. A
  new process also gives a program the same module each time, so that its
  compilation is found again.

  Raises:
    UserError: The cores cannot share the batch, or the process ended.
  """
  context = multiprocessing.get_context('spawn')
  with futures.ProcessPoolExecutor(1, context) as pool:
    try:
      of_core = name, config, where.num_cores, num_blocks
      return pool.submit(_lower, where.name, *of_core).result()
    except process.BrokenProcessPool as error:
      raise errors.UserError(
        f'{name} must be lowered by TensorFlow. Found that its process ended, '
        'killed for memory or with the message above. Give more memory, or '
        'other --programs.'
      ) from error


def _lower(kind: str, *of_core: Any) -> list[lowering.Lowered]:
  with precision.planned_for_tpu(kind):
    return [lowering.lower(each) for each in build(*of_core)]


class _Planner:
  """Makes the programs of one config."""

  def __init__(
    self, config: config_lib.ExperimentConfig, num_cores: int, num_blocks: int
  ):
    model = config.model
    if not model.reader_bert.vocab_size:
      model = realm_model.with_vocab_size(model, _VOCABULARY)
    if not model.seq2seq.vocab_size:  # TensorFlow aborts at no wordpieces.
      sized = dataclasses.replace(
        model.seq2seq, vocab_size=model.reader_bert.vocab_size
      )
      model = dataclasses.replace(model, seq2seq=sized)
    if model.train_dtype == 'auto':
      model = dataclasses.replace(model, train_dtype='bfloat16')
    self._config = dataclasses.replace(config, model=model)
    self._lengths = config.lengths
    self._num_cores = num_cores
    self._num_blocks = num_blocks

  def pretraining(self) -> lowering.Program:
    config, lengths = self._config.pretraining, self._lengths
    size = self._share('pretraining', config.batch_size)
    k, masked = config.num_candidates, lengths.max_masked
    trainer = pretraining_trainer.PretrainingTrainer(
      optimizer_lib.create(config.optimizer),
      self._model(realm_model.MASKED_LM, realm_model.EMBEDDER),
      self._config,
      special_ids=_SPECIAL_IDS,
    )
    batch = {
      'query_ids': _ids(size, lengths.query_tokens - 2),
      'masked_positions': _ids(size, masked),
      'gold_ids': _ids(size, masked),
      'token_mask': tf.TensorSpec([size, masked]),
      'candidate_ids': _ids(size, k),
      'is_real': tf.TensorSpec([size, k], tf.bool),
      **self._blocks(size, k),
    }
    if config.inverse_cloze_weight:
      batch['cloze_ids'] = _ids(size, k - 1, lengths.query_tokens - 2)
    return self._step('pretraining', trainer, batch, size)

  def inverse_cloze(self) -> lowering.Program:
    config = self._config.inverse_cloze
    size = self._share('inverse_cloze', config.batch_size)
    trainer = inverse_cloze_trainer.InverseClozeTrainer(
      optimizer_lib.create(config.optimizer),
      self._model(realm_model.EMBEDDER),
      config,
      lengths=self._lengths,
      special_ids=_SPECIAL_IDS,
    )
    batch = {
      'query_ids': _ids(size, config.query_tokens - 2),
      **self._blocks(size),
    }
    return self._step('inverse_cloze', trainer, batch, size)

  def finetuning(self) -> lowering.Program:
    config, model = self._config.finetuning, self._config.model
    size = self._share('finetuning', config.batch_size)
    trainer = finetuning_trainer.FinetuningTrainer(
      optimizer_lib.create(config.optimizer),
      self._model(realm_model.EMBEDDER, realm_model.SPAN),
      self._config,
      special_ids=_SPECIAL_IDS,
    )
    searched = [size, config.num_searched]
    longest = min(self._lengths.block_tokens, config.joint_tokens)
    read = [size, config.num_read, longest]
    batch = {
      'question_ids': _ids(size, self._lengths.question_tokens),
      'block_embeddings': tf.TensorSpec([*searched, self._width]),
      'has_answer': tf.TensorSpec(searched, tf.bool),
      'is_compared': tf.TensorSpec(searched, tf.bool),
      'read_rows': _ids(size, config.num_read),
      'title_ids': _ids(size, config.num_read, self._lengths.title_tokens),
      'body_ids': _ids(*read),
      'is_answer': tf.TensorSpec([*read, model.max_span_width], tf.bool),
    }
    if config.null_spans:
      batch['is_impossible'] = tf.TensorSpec([size], tf.bool)
    return self._step('finetuning', trainer, batch, size)

  def tagger(self) -> lowering.Program:
    config = self._config.tagger
    size = self._share('tagger', config.batch_size)
    trainer = taggers.TaggerTrainer(
      optimizer_lib.create(config.optimizer),
      token_tagger.TokenTagger(self._config.model.reader_bert, _NUM_LABELS),
      _SPECIAL_IDS,
    )
    ids = _ids(size, config.max_tokens - 2)
    batch = {'ids': ids, 'label_ids': ids}
    return self._step('tagger', trainer, batch, size)

  def closed_book(self) -> lowering.Program:
    config = self._config.closed_book
    size = self._share('closed_book', config.batch_size)
    trainer = closed_book_trainer.ClosedBookTrainer(
      optimizer_lib.create(config.optimizer), self._model(realm_model.SEQ2SEQ)
    )
    batch = {
      'input_ids': _ids(size, config.input_tokens),
      'target_ids': _ids(size, config.answer_tokens),
    }
    return self._step('closed_book', trainer, batch, size)

  def block_embedding(self) -> list[lowering.Program]:
    """Embedding of blocks by a refresher on the slice, at each length."""
    dtype = self._config.index.embed_dtype
    model = self._model(realm_model.EMBEDDER)
    embed = embedding.compile_blocks(
      model, _SPECIAL_IDS, 'bfloat16' if dtype == 'auto' else dtype
    )
    return [
      self._embedding(embed, size, length)
      for size, length in embedding.full_batches(self._lengths)
    ]

  def _embedding(
    self, embed: embedding.BlockEmbed, size: int, length: int
  ) -> lowering.Program:
    share = -(-size // self._num_cores)
    return lowering.Program(
      f'block_embedding_{length}',
      lambda titles, bodies: embed(titles, bodies, length),
      (_ids(share, self._lengths.title_tokens), _ids(share, length)),
      share,
      ('index.embed_dtype=bfloat16', 'a smaller lengths.block_tokens'),
    )

  def query_embedding(self) -> lowering.Program:
    size = self._share('pretraining', self._config.pretraining.batch_size)
    model, length = self._model(realm_model.EMBEDDER), self._lengths
    return lowering.Program(
      'query_embedding',
      lambda ids: model.embed_queries(
        joining.pack_longest(ids, None, *_SPECIAL_IDS, length.query_tokens)
      ),
      (_ids(size, length.query_tokens - 2),),
      size,
      ('a smaller pretraining.batch_size',),
    )

  def exact_search(self) -> lowering.Program:
    """Search of a core's blocks for the queries of a whole batch."""
    config = self._config
    size = 1 << (config.pretraining.batch_size - 1).bit_length()
    k = config.pretraining.num_candidates + _SPARE_HITS
    group, share = exact_search.GROUP, -(-self._num_blocks // self._num_cores)
    rows = tf.TensorSpec([-(-share // group) * group, self._width])
    return lowering.Program(
      'exact_search',
      lambda rows, queries, number: exact_search.top_rows(
        rows, queries, number, k, exact_search.approximate_top
      ),
      (rows, tf.TensorSpec([size, self._width]), tf.TensorSpec([], tf.int32)),
      size,
      ('index.searcher=scann', 'a slice with more cores'),
    )

  @property
  def _width(self) -> int:
    model = self._config.model
    return model.embedder.width(model.embedder_bert.hidden_size)

  def _share(self, section: str, batch_size: int) -> int:
    """Returns a core's part of a batch."""
    if batch_size % self._num_cores:
      raise errors.UserError(
        f'{section}.batch_size must be a multiple of the cores. Found a batch '
        f'of {batch_size} and {self._num_cores} cores. Set it, or give a '
        'smaller slice.'
      )
    return batch_size // self._num_cores

  def _model(self, *parts: str) -> realm_model.RealmModel:
    return realm_model.RealmModel(
      self._config.model, parts, null_spans=self._config.finetuning.null_spans
    )

  def _blocks(self, *shape: int) -> _Specs:
    return {
      'title_ids': _ids(*shape, self._lengths.title_tokens),
      'body_ids': _ids(*shape, self._lengths.block_tokens),
    }

  def _step(
    self, section: str, trainer: Any, batch: Mapping[str, Any], size: int
  ) -> lowering.Program:
    trainer.seed_dropout(self._config.seed)
    remedies = [f'a smaller {section}.batch_size', 'a slice with more cores']
    if section == 'inverse_cloze' and not self._config.inverse_cloze.chunk_size:
      remedies.insert(0, f'inverse_cloze.chunk_size={max(1, size // 8)}')
    model = self._config.model
    if not model.recompute_activations:
      remedies.insert(0, 'model.recompute_activations=true')
    if model.train_dtype == 'float32':
      remedies.insert(0, 'model.train_dtype=bfloat16')
    return lowering.Program(
      section,
      trainer.distributed_step,
      (dict(batch), tf.TensorSpec([])),
      size,
      tuple(remedies),
      self._num_cores,
    )


def _ids(*shape: int) -> tf.TensorSpec:
  return tf.TensorSpec(shape, tf.int32)
