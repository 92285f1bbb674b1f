"""A model's span reader as a function of arrays."""

from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import interfaces
from realm_tf.data import joining
from realm_tf.data import memory
from realm_tf.index import embedding
from realm_tf.model import lean_encoder
from realm_tf.model import precision
from realm_tf.model import realm_model

# Wordpieces per batch: enough for efficient matmuls, few enough that the pairs
# have about the same length.
_GROUP_TOKENS = 4096
_MOST_KEPT_BYTES = 1 << 28


# (tokens of pairs int32 [n, L], Lz) -> scores of spans, float32 [n, Lz, W], and
# of null spans, [n].
Score = Callable[[dict[str, np.ndarray], int], interfaces.Scores]


def tensorflow_score(model: realm_model.RealmModel, dtype: str) -> Score:
  """Returns the span reader as one graph of all sizes: no question retraces it.

  Each call uses the current variables; `dtype` is for the encoder's matmuls.
  """
  encode = None
  if dtype != 'float32':
    encode = lean_encoder.LeanEncoder(
      model.span_reader.encoder, model.config.reader_bert, dtype
    )
  spec = tf.TensorSpec([None, 1, None], tf.int32)
  score = tf.function(
    lambda ids, mask, types, body_length: model.span_reader(
      dict(zip(joining.NAMES, (ids, mask, types))), body_length, encode=encode
    ),
    input_signature=[spec, spec, spec, tf.TensorSpec([], tf.int32)],
    autograph=False,
  )

  def score_pairs(
    tokens: dict[str, np.ndarray], body_length: int
  ) -> interfaces.Scores:
    arrays = [tokens[name][:, None] for name in joining.NAMES]
    scores = score(*arrays, body_length)
    return interfaces.Scores(*(each[:, 0].numpy() for each in scores))

  return score_pairs


def fastest_score(
  model: realm_model.RealmModel, dtype: str, backend: str
) -> Score:
  """Returns the span reader in TensorFlow or OpenVINO.

  Args:
    dtype: 'float32', 'bfloat16' or 'auto': bfloat16 if hardware multiplies it.
    backend: `IndexConfig.embed_backend`.
  """
  dtype = precision.choose(dtype)
  if embedding.choose_backend(backend) != 'openvino':
    return tensorflow_score(model, dtype)
  from realm_tf.model import openvino_encoder  # Needs an optional library.

  return openvino_encoder.OpenvinoReader(
    model.span_reader, model.config.reader_bert, dtype
  )


class KeptScore:
  """Keeps the scores of pairs, because several systems read the same pair."""

  def __init__(self, score: Score):
    self._score = score
    self._memory = memory.Memory(_MOST_KEPT_BYTES)  # Of wordpieces.

  def __call__(
    self, tokens: dict[str, np.ndarray], body_length: int
  ) -> interfaces.Scores:
    lengths = tokens['input_mask'].sum(axis=1)
    ids = zip(tokens['input_word_ids'], lengths, strict=True)

    def make(rows: list[int]) -> Iterator[tuple[np.ndarray, ...]]:
      some = {name: each[rows] for name, each in tokens.items()}
      num_body = some['input_type_ids'].sum(axis=1) - 1
      for length, spans, null in zip(
        num_body, *self._score(some, body_length), strict=True
      ):
        yield spans[:length].copy(), null

    found = self._memory.values(
      [row[:length].tobytes() for row, length in ids], make
    )
    shape = len(found), body_length, found[0][0].shape[1]
    result = np.full(shape, interfaces.NO_SCORE, np.float32)
    for row, (spans, _) in enumerate(found):
      result[row, : len(spans)] = spans
    return interfaces.Scores(result, np.array([null for _, null in found]))


class PairReader:
  """Reads (question, block) pairs; an `answerer.Reader`.

  Batches hold pairs of similar length, which saves padding. Pairs without a
  block are skipped.
  """

  def __init__(
    self,
    score: Score,
    max_width: int,
    special_ids: tuple[int, int],
    config: config_lib.FinetuningConfig,
  ):
    self._score = score
    self._max_width = max_width
    # Run eagerly, the many small operations take longer than the encoder.
    ids, blocks = (tf.TensorSpec([None] * rank, tf.int32) for rank in (2, 3))
    self._pack_pairs = tf.function(
      lambda questions, bodies, titles: joining.pack_pairs(
        questions,
        bodies,
        *special_ids,
        config.joint_tokens,
        titles if config.read_titles else None,
      ),
      input_signature=[ids, blocks, blocks],
      autograph=False,
    )

  def __call__(
    self,
    question_ids: np.ndarray,
    title_ids: np.ndarray,
    body_ids: np.ndarray,
    retrieval_scores: np.ndarray,
  ) -> interfaces.Scores:
    shape = *body_ids.shape, self._max_width  # B, K, Lz, W
    joint = self._pack_pairs(
      *(tf.constant(ids) for ids in (question_ids, body_ids, title_ids))
    )
    tokens = {  # BERT's input of all pairs, int32 [B * K, L] each.
      name: array.numpy().reshape(-1, array.shape[-1])
      for name, array in joint.items()
    }
    # The body's wordpieces: the second segment without its [SEP].
    num_body = tokens['input_type_ids'].sum(axis=1) - 1
    spans, null = (
      np.full([len(num_body), *rest], interfaces.NO_SCORE, np.float32)
      for rest in (shape[2:], [])
    )
    for rows, length in _groups(tokens['input_mask'].sum(axis=1), num_body):
      some = {name: ids[rows, :length] for name, ids in tokens.items()}
      longest = num_body[rows].max()
      spans[rows, :longest], null[rows] = self._score(some, longest)
    return interfaces.Scores(
      spans.reshape(shape) + retrieval_scores[:, :, None, None],
      null.reshape(shape[:2]) + retrieval_scores,
    )


def _groups(
  lengths: np.ndarray, num_body: np.ndarray
) -> Iterator[tuple[np.ndarray, int]]:
  """Yields rows of a batch and their largest length, longest pairs first."""
  rows = np.flatnonzero(num_body > 0)
  rows = rows[np.argsort(-lengths[rows], kind='stable')]
  while rows.size:
    length = int(lengths[rows[0]])
    number = max(1, _GROUP_TOKENS // length)
    yield rows[:number], length
    rows = rows[number:]
