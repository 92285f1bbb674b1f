"""Masked sentences: completes one, and measures the retrieval of many.

A completion is with and without retrieval: Table 3, live. Retrieval reads the
null block and the best K - 1 blocks; without it the encoder reads the null
block alone. A block's gain in log p(y|z,x) over the null block is its retrieval
utility (Appendix D of Guu et al. 2020).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import interfaces
from realm_tf.data import block_table
from realm_tf.data import held_out
from realm_tf.data import joining
from realm_tf.data import masking
from realm_tf.data import query_table
from realm_tf.data import sampling
from realm_tf.index import model_files
from realm_tf.index import storage
from realm_tf.model import objectives
from realm_tf.model import realm_model
from realm_tf.qa import outcome as outcome_lib
from realm_tf.qa import summary
from realm_tf.retrieval import candidates
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.retrieval import retrievers
from realm_tf.run import layout
from realm_tf.text import wordpiece

_BATCH = 64
_MOST = 5000  # Sentences: recall's standard error is below a percentage point.
_NUM_SHOWN = 5  # Likeliest words per mask.
_WIDTH = 32  # Bodies are cut to a multiple: few shapes to compile.


class Completer:
  """Completes sentences with a pre-trained model.

  `model` has the EMBEDDER and MASKED_LM parts; the index of `retriever` may be
  older.
  """

  def __init__(
    self,
    model: realm_model.RealmModel,
    retriever: retrievers.RetrievalLayer,
    table: block_table.BlockTable,
    tokenizer: wordpiece.WordpieceTokenizer,
    config: config_lib.ExperimentConfig,
  ):
    self._model = model
    self._retriever = retriever
    self._table = table
    self._tokenizer = tokenizer
    self._config = config
    self._score = tf.function(self._scores, autograph=False)

  def complete(self, sentence: str) -> dict[str, Any]:
    """Returns completions and candidates (null block first), or RequestError.

    `sentence` has a [MASK] for each missing wordpiece.
    """
    ids = self._parse(sentence)
    # K, with the null block.
    number = min(
      self._config.pretraining.num_candidates, self._table.num_blocks + 1
    )
    found = candidates.select(
      self._retriever(ids[None], number).block_ids, np.array([-1]), number
    )
    found = found[:, candidates.is_real(found)[0]]  # [1, K]
    lengths = self._config.lengths
    titles, bodies = self._table.gather(
      found,
      lengths.title_tokens,
      max(lengths.joint_tokens, lengths.block_tokens),
    )
    # [CLS] moves all positions by 1.
    positions = np.flatnonzero(ids == self._tokenizer.mask_id) + 1
    scores, log_probs = self._score(
      tf.constant(sampling.pad_rows([ids], lengths.query_tokens)),
      tf.constant(positions[None], tf.int32),
      tf.constant(titles),
      tf.constant(sampling.trim(bodies, _WIDTH)),
    )
    return {
      'sentence': sentence,
      **self._described(found[0], scores.numpy()[0], log_probs.numpy()[0]),
    }

  def _parse(self, sentence: str) -> np.ndarray:
    """Returns the sentence's wordpieces and masks, int32 [L]."""
    parts = sentence.split(wordpiece.MASK)
    num_masks, most = len(parts) - 1, self._config.lengths.max_masked
    if not 1 <= num_masks <= most:
      raise errors.RequestError(
        f'A sentence must have 1 to {most} {wordpiece.MASK}, one for each '
        f'missing wordpiece. Found {num_masks}.'
      )
    mask = np.array([self._tokenizer.mask_id], np.int32)
    pieces = self._tokenizer.token_ids_batch(parts)
    ids = np.concatenate([each for piece in pieces for each in (piece, mask)])
    ids = ids[:-1].astype(np.int32)
    longest = self._config.lengths.query_tokens - 2  # Without [CLS] and [SEP].
    if len(ids) > longest:
      raise errors.RequestError(
        f'A sentence must have at most {longest} wordpieces. Found {len(ids)}.'
      )
    return ids

  def _scores(
    self,
    query_ids: tf.Tensor,
    positions: tf.Tensor,
    title_ids: tf.Tensor,
    body_ids: tf.Tensor,
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns f(x,z), [1, K], and log p(.|z,x), [1, K, M, V]."""
    lengths = self._config.lengths
    special_ids = self._tokenizer.special_ids
    query = self._model.embed_queries(
      joining.pack_longest(query_ids, None, *special_ids, lengths.query_tokens)
    )
    blocks = self._model.embed_blocks(
      joining.pack_longest(
        title_ids, body_ids, *special_ids, lengths.block_tokens
      )
    )
    logits = self._model.knowledge_encoder.logits(
      joining.pack_pairs(
        query_ids, body_ids, *special_ids, lengths.joint_tokens
      ),
      positions,
    )
    scores = self._model.with_null_bias(tf.linalg.matvec(blocks, query))
    return scores, tf.nn.log_softmax(logits)

  def _described(
    self, found: np.ndarray, scores: np.ndarray, log_probs: np.ndarray
  ) -> dict[str, Any]:
    """Returns completions and candidates.

    Args:
      found: Block ids, [K].
      scores: f(x,z), [K].
      log_probs: log p(.|z,x), [K, M, V].
    """
    log_p_z = tf.nn.log_softmax(scores).numpy()
    with_retrieval = tf.reduce_logsumexp(
      log_p_z[:, None, None] + log_probs, axis=0
    ).numpy()  # [M, V]
    without = log_probs[objectives.NULL_POSITION]
    words = with_retrieval.argmax(axis=-1)  # y, [M]
    gold = np.take_along_axis(log_probs, words[None, :, None], axis=-1)[..., 0]
    mask = np.ones([1, len(words)], np.float32)
    log_p_y = objectives.query_log_likelihood(
      tf.constant(gold[None]), tf.constant(mask)
    )  # [1, K]
    utility = objectives.block_utility(log_p_y).numpy()[0]
    return {
      'completion': self._tokenizer.detokenize(words),
      'with_retrieval': self._likeliest(with_retrieval),
      'without_retrieval': self._likeliest(without),
      'candidates': [
        {
          **self._block(int(block_id)),
          'p_z': float(np.exp(log_p_z[i])),
          'p_y': float(np.exp(log_p_y.numpy()[0, i])),
          'utility': float(utility[i]),
        }
        for i, block_id in enumerate(found)
      ],
    }

  def _block(self, block_id: int) -> dict[str, Any]:
    if block_id == interfaces.NULL_BLOCK:
      return {'block_id': None, 'title': '', 'text': ''}
    (title,) = self._table.titles([block_id])
    (text,) = self._table.texts([block_id])
    return {'block_id': block_id, 'title': title, 'text': text}

  def _likeliest(self, log_probs: np.ndarray) -> Sequence[Any]:
    """Returns the likeliest wordpieces of each mask; `log_probs` are [M, V]."""
    best = np.argsort(-log_probs, axis=-1, kind='stable')[:, :_NUM_SHOWN]
    return [
      [
        {
          'word': self._tokenizer.vocabulary[piece],
          'probability': float(np.exp(row[piece])),
        }
        for piece in pieces
      ]
      for row, pieces in zip(log_probs, best.tolist())
    ]


def load(pretrained_dir: str, corpus_dir: str) -> Completer:
  """Opens a pre-training run with an index of the corpus, or UserError."""
  table = block_table.BlockTable.open(corpus_dir)
  opened = model_files.open_model(
    pretrained_dir,
    [realm_model.EMBEDDER, realm_model.MASKED_LM],
    table=table,
    flag='--pretrained_dir',
  )
  if opened.newest_index is None:
    raise errors.UserError(
      '--pretrained_dir must contain an index. Found none in '
      f'{layout.index_root(pretrained_dir)}. Run bin.refresh_index --once.'
    )
  config, tokenizer = opened.config, opened.tokenizer
  index = storage.load(
    opened.newest_index.path, table.manifest['corpus_fingerprint']
  )
  # As in training, the index's own parameters embed the queries of a search,
  # and the current parameters give p(z|x).
  older = realm_model.RealmModel(config.model, [realm_model.EMBEDDER])
  model_files.load_version(older, index.path)
  retriever = retrievers.over_model(
    older, index.searcher, config.lengths.query_tokens, tokenizer.special_ids
  )
  completer = Completer(opened.model, retriever, table, tokenizer, config)
  completer.complete(wordpiece.MASK)  # Compiles it before the first request.
  return completer


def span_recall(
  queries_dir: str,
  table: block_table.BlockTable,
  tokenizer: wordpiece.WordpieceTokenizer,
  *,
  retriever: interfaces.Retriever,
  config: config_lib.ExperimentConfig,
  share: float,
  recall_at: Sequence[int],
  seed: int = 0,
) -> dict[str, Any]:
  """Measures, on a corpus without questions, how often blocks have the span.

  Returns fields of metrics.json: span recall@k in percent, intervals, and
  `span_ranks`, the rank of each sentence's first right block, or 0.

  Args:
    queries_dir: Sentences of bin.make_queries.
    share: Share of articles that is held out, whose sentences are masked; 0
      takes all sentences.
  """
  queries = query_table.QueryTable.open(queries_dir)
  queries.fit_corpus(table)
  chosen = held_out.queries(queries, table, share)
  if share and not chosen.any():
    raise errors.UserError(
      'Some sentences must be from held-out articles. Found none among '
      f'{queries.num_queries} with a share of {share}. Raise '
      '--held_out_share.'
    )
  rows = held_out.choose(chosen if share else ~chosen, _MOST, seed)
  how = masking.of_config(config, tokenizer.mask_id)
  masked = masking.mask_batch(queries, rows, how, sampling.step_rng(seed, 0))
  depth = max(recall_at)
  has_span = np.zeros([len(rows), depth], bool)
  # Sentences of similar length share a batch, which saves padding.
  order = np.argsort((masked['query_ids'] > 0).sum(axis=1), kind='stable')
  for some in np.split(order, range(_BATCH, len(order), _BATCH)):
    batch = {name: each[some] for name, each in masked.items()}
    asked = retriever_lib.masked(batch['query_ids'], tokenizer)
    ids = retriever.retrieve(asked, depth + candidates.SPARE_HITS).block_ids
    _, has_span[some] = candidates.find_spans(ids, batch, table, depth)
  recall = outcome_lib.recall('span_recall', has_span, recall_at)
  means, ends = summary.means(dict(recall), seed)
  return {
    'num_sentences': len(has_span),
    **means,
    'span_intervals': ends,
    'span_ranks': outcome_lib.first_rank(has_span).tolist(),
  }
