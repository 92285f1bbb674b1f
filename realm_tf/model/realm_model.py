"""Combines the networks of REALM: two embedders and a reader.

  query ---> query_embedder ---+
                               +--> f(x,z)
  block ---> block_embedder ---+
  query + block ---> knowledge_encoder ---> log p(y_j|z,x)  (pre-training)
  query + block ---> span_reader -------> g(s)              (open-domain QA)
  query -----------> seq2seq -----------> log p(y|x)        (closed book)

The knowledge encoder and the span reader share one BERT, as in the paper.
"""

from collections.abc import Iterable, Sequence
import dataclasses

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.model import bert
from realm_tf.model import embedder as embedder_lib
from realm_tf.model import islands_layer
from realm_tf.model import lean_encoder
from realm_tf.model import path_scorer
from realm_tf.model import precision
from realm_tf.model import readers
from realm_tf.model import seq2seq as seq2seq_lib
from realm_tf.model import weights

EMBEDDER, MASKED_LM, SPAN = 'embedder', 'masked_lm', 'span'
PATH = 'path'  # A rival with retrieval along links.
SEQ2SEQ = 'seq2seq'  # A rival without retrieval.
QUERY_EMBEDDER = 'query_embedder'  # EMBEDDER without the blocks' tower.

# Prefixes of variable names.
EMBEDDER_PREFIXES = ('shared_', 'query_', 'block_')
READER_PREFIXES = ('reader_', 'masked_lm/', 'span_reader/')
# Scalars that sharpen p(z|x) and score the null block. Products of normalized
# embeddings are bounded and need them.
LOG_TEMPERATURE, NULL_BIAS = 'shared_log_temperature', 'shared_null_bias'
# Tower -> towers to start from, best first.
_SOURCES = {
  'query': ('shared',),
  'block': ('shared',),
  'reader': ('query', 'shared'),
}


class RealmModel(tf.Module):
  """The parts of REALM that a job needs.

  Variables have unique names, the same in every job, so that any file of
  parameters fits any model by name.

  Args:
    config: Sizes of the networks; `vocab_size` must be set.
    parts: Parts to build: EMBEDDER or QUERY_EMBEDDER, MASKED_LM, SPAN, PATH,
      SEQ2SEQ.
    is_inner: As `SpanReader.is_inner`.
    null_spans: Whether the span reader scores null spans.

  Attributes:
    query_embedder: Maps join(x) with a prompt to [B, D], before `score_scale`.
    block_embedder: Maps join(title, body) with a prompt to [B, D]; the same
      object as `query_embedder` if towers are shared.
    knowledge_encoder: With the MASKED_LM part.
    span_reader: With the SPAN part.
    path_scorer: With the PATH part, else None.
    seq2seq: With the SEQ2SEQ part.
    log_temperature: Logarithm of the learned divisor of f(x,z), float32 [].
      This and `null_bias` are None unless embeddings are normalized.
    null_bias: Learned addition to the null block's f(x,z), float32 [].
  """

  def __init__(
    self,
    config: config_lib.ModelConfig,
    parts: Sequence[str],
    is_inner: np.ndarray | None = None,
    null_spans: bool = False,
  ):
    super().__init__(name='realm')
    self.config = config
    self._dtype = precision.choose(config.train_dtype)
    self._islands = _prefers_islands(self._dtype, config, parts)
    self.log_temperature = self.null_bias = self.path_scorer = None
    if EMBEDDER in parts or QUERY_EMBEDDER in parts:
      if config.embedder.normalize:
        self.log_temperature, self.null_bias = (
          tf.Variable(0.0, name=name) for name in (LOG_TEMPERATURE, NULL_BIAS)
        )
      shared = config.embedder.shared_towers
      self.query_embedder = self._embedder('shared' if shared else 'query')
    if EMBEDDER in parts:
      self.block_embedder = (
        self.query_embedder if shared else self._embedder('block')
      )
    if PATH in parts:
      self.path_scorer = _path_scorer(config)
    if SEQ2SEQ in parts:
      self.seq2seq = seq2seq_lib.Seq2Seq(config.seq2seq)
    if MASKED_LM in parts or SPAN in parts:
      reader_bert = bert.build_encoder(config.reader_bert, 'reader_bert')
    if MASKED_LM in parts:
      head = bert.build_masked_lm_head(reader_bert, config.reader_bert)
      self.knowledge_encoder = readers.KnowledgeEncoder(
        reader_bert,
        head,
        self._lean(reader_bert, config.reader_bert),
        islands_layer.IslandsHead(head, self._dtype) if self._islands else None,
      )
    if SPAN in parts:
      self.span_reader = readers.SpanReader(
        reader_bert,
        config.span_hidden_size,
        config.max_span_width,
        self._lean(reader_bert, config.reader_bert),
        is_inner,
        null_spans,
        config.span_head,
        name='span_reader',
      )
      self.span_reader(bert.example_tokens((1, 1, 4)), body_length=1)

  def _embedder(self, tower):
    encoder = bert.build_encoder(
      self.config.embedder_bert,
      f'{tower}_bert',
      cls_only=not self.config.embedder.reads_all,
    )
    embedder = embedder_lib.Embedder(
      encoder,
      self.config.embedder,
      self._lean(encoder, self.config.embedder_bert),
      name=f'{tower}_embedder',
    )
    embedder(bert.example_tokens((1, 4)))
    return embedder

  def _lean(self, encoder, bert_config):
    return lean_encoder.LeanEncoder(
      encoder,
      bert_config,
      self._dtype,
      self.config.recompute_activations,
      self._islands,
    )

  @property
  def prefers_xla(self) -> bool:
    """Whether XLA makes a training step faster on this machine."""
    return lean_encoder.prefers_xla(self._dtype) and not self._islands

  @property
  def score_scale(self) -> float | tf.Tensor:
    """Factor between products of embeddings and f(x,z)."""
    scale = self.config.embedder.score_scale
    if self.log_temperature is None:
      return scale
    return scale * tf.exp(-self.log_temperature)

  def query_variables(
    self, head: tf_keras.layers.Layer
  ) -> Sequence[tf.Variable]:
    """Returns what learns if f(x,z) and a head learn, but no blocks' tower."""
    networks = self.query_embedder, head
    variables = [v for each in networks for v in each.trainable_variables]
    has_scale = self.log_temperature is not None
    return [*variables, self.log_temperature] if has_scale else variables

  def with_null_bias(self, scores: tf.Tensor) -> tf.Tensor:
    """Adds the null bias to scores [B, K]; the null block is first."""
    if self.null_bias is None:
      return scores
    return scores + self.null_bias * tf.one_hot(0, scores.shape[1])

  def embed_queries(
    self, tokens: dict[str, tf.Tensor], training: bool = False
  ) -> tf.Tensor:
    """Returns query embeddings times `score_scale`, [B, D]."""
    return self.score_scale * self.query_embedder(
      self.with_query_prompt(tokens), training=training
    )

  def embed_blocks(
    self, tokens: dict[str, tf.Tensor], training: bool = False
  ) -> tf.Tensor:
    """Returns block embeddings, [..., D]."""
    return self.block_embedder(
      self.with_block_prompt(tokens), training=training
    )

  def with_query_prompt(
    self, tokens: dict[str, tf.Tensor]
  ) -> dict[str, tf.Tensor]:
    """Inserts the query prompt."""
    return embedder_lib.insert_prompt(tokens, self.config.embedder.query_prompt)

  def with_block_prompt(
    self, tokens: dict[str, tf.Tensor]
  ) -> dict[str, tf.Tensor]:
    """Inserts the block prompt."""
    return embedder_lib.insert_prompt(tokens, self.config.embedder.block_prompt)

  def load(self, arrays: dict[str, np.ndarray]) -> weights.LoadReport:
    """Assigns weights to the variables of the same names.

    A shared tower fills two separate towers. Without reader weights, the
    reader's BERT starts from the tower's BERT, if the sizes agree: the paper
    starts all networks from one BERT.
    """
    values = dict(arrays)
    for name, variable in weights.by_name(self.variables).items():
      tower, _, rest = name.partition('_')
      if tower == 'reader' and has_reader(arrays):
        continue
      for other in _SOURCES.get(tower, ()):
        value = arrays.get(f'{other}_{rest}')
        if value is not None and (
          tower != 'reader' or value.shape == tuple(variable.shape)
        ):
          values.setdefault(name, value)
    report = weights.assign(self.variables, values)
    left_over = [
      name for name in report.left_over if not name.startswith('shared_')
    ]
    return report._replace(left_over=left_over)


def _prefers_islands(
  dtype: str, config: config_lib.ModelConfig, parts: Sequence[str]
) -> bool:
  """Returns whether islands make the parts' training faster; all or none."""
  berts = {
    **dict.fromkeys((EMBEDDER, QUERY_EMBEDDER), config.embedder_bert),
    **dict.fromkeys((MASKED_LM, SPAN), config.reader_bert),
  }
  widths = [berts[part].hidden_size for part in parts if part in berts]
  return lean_encoder.prefers_islands(dtype, max(widths, default=0))


def _path_scorer(config):
  size = config.embedding_width
  scorer = path_scorer.PathScorer(size, name='path_scorer')
  scorer(tf.zeros([1, size]), tf.zeros([1, 1, 2, size]), tf.ones([1, 1, 2]) > 0)
  return scorer


def parts_of(names: Iterable[str]) -> list[str]:
  """Returns the parts with weights of these names."""
  prefixes = {
    EMBEDDER: EMBEDDER_PREFIXES,
    MASKED_LM: ('masked_lm/',),
    SPAN: ('span_reader/',),
    PATH: (path_scorer.PREFIX,),
    SEQ2SEQ: seq2seq_lib.PREFIXES,
  }
  return [
    part
    for part, prefix in prefixes.items()
    if any(name.startswith(prefix) for name in names)
  ]


def has_reader(names: Iterable[str]) -> bool:
  """Returns whether weights of these names include the reader's BERT."""
  return any(name.startswith('reader_') for name in names)


def has_null_spans(names: Iterable[str]) -> bool:
  """Returns whether weights of these names score null spans."""
  return any(name.startswith('span_reader/null_score/') for name in names)


def require_parts(report: weights.LoadReport, source: str) -> None:
  """Raises UserError unless `source` had the used networks' variables alone."""
  networks = {name.partition('/')[0] for name in report.used}
  others = [n for n in report.left_over if n.partition('/')[0] in networks]
  if wrong := report.missing or others:
    raise errors.UserError(
      f'Parameters must fit the config. {source} '
      f'{"lacks" if report.missing else "also has"} {wrong[0]} and '
      f'{len(wrong) - 1} more of {len(wrong) + len(report.used)} variables. '
      'Use the config of their training.'
    )


def separate_towers(config: config_lib.ModelConfig) -> config_lib.ModelConfig:
  """Returns `config` with separate towers for queries and blocks.

  Fine-tuning trains Embed_input and freezes Embed_doc (Section 3.3).
  """
  return dataclasses.replace(
    config, embedder=dataclasses.replace(config.embedder, shared_towers=False)
  )


def with_vocab_size(
  config: config_lib.ModelConfig, vocab_size: int
) -> config_lib.ModelConfig:
  """Returns `config` for a vocabulary of `vocab_size` wordpieces."""
  sized = lambda network: dataclasses.replace(network, vocab_size=vocab_size)
  return dataclasses.replace(
    config,
    embedder_bert=sized(config.embedder_bert),
    reader_bert=sized(config.reader_bert),
    seq2seq=sized(config.seq2seq),
  )
