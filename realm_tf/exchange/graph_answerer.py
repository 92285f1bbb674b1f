"""Questions as strings -> answers and evidence, in one graph.

  string [B] -> wordpieces -> f(x,z) of all blocks -> K blocks -> spans -> text

The graph gives the answers of `qa.answerer` without Python. It tokenizes
the K blocks for each question, which costs far less than reading them, and
gives the offsets of wordpieces.
"""

from collections.abc import Callable
import dataclasses
from typing import NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow.experimental.numpy as tnp

from realm_tf import config as config_lib
from realm_tf import interfaces
from realm_tf.data import block_table
from realm_tf.data import joining
from realm_tf.model import realm_model
from realm_tf.qa import answer_choice
from realm_tf.qa import calibration as calibration_lib
from realm_tf.text import string_tensors
from realm_tf.text import wordpiece

_CHUNK_BLOCKS = 1 << 14  # Python strings in memory at a time.


class GraphBlocks(tf.Module):
  """Looks up the N blocks of a corpus inside a graph."""

  def __init__(self, table: block_table.BlockTable):
    super().__init__(name='blocks')
    rows = table.article_rows
    first_blocks = np.searchsorted(rows, np.arange(rows[-1] + 1))
    self._texts = _strings(table.texts, range(table.num_blocks), 'texts')
    self._titles = _strings(table.titles, first_blocks, 'titles')
    self._article_rows = tf.Variable(
      rows, dtype=tf.int32, trainable=False, name='article_rows'
    )

  def texts(self, block_ids: tf.Tensor) -> tf.Tensor:
    """Returns the texts of blocks, in the shape of `block_ids`."""
    return tf.gather(self._texts, block_ids)

  def titles(self, block_ids: tf.Tensor) -> tf.Tensor:
    """Returns the titles of blocks, in the shape of `block_ids`."""
    return tf.gather(self._titles, tf.gather(self._article_rows, block_ids))


def _strings(read, ids, name):
  """Reads strings in chunks into one variable, string [n]."""
  parts = []
  for start in range(0, len(ids), _CHUNK_BLOCKS):
    texts = read(ids[start : start + _CHUNK_BLOCKS])
    parts.append(tf.constant([t.encode('utf-8', 'replace') for t in texts]))
  return tf.Variable(tf.concat(parts, axis=0), trainable=False, name=name)


def num_searched(
  finetuning: config_lib.FinetuningConfig, num_blocks: int
) -> int:
  """Returns the number of blocks to search for per question."""
  return min(max(finetuning.num_read, config_lib.NUM_COMPARED), num_blocks)


@dataclasses.dataclass(frozen=True)
class GraphAnswerer:
  """Answers questions in a graph.

  Attributes:
    embedder: A model with the EMBEDDER part.
    reader: A model with the SPAN part.
    search: (queries float32 [B, D], k) -> block ids int32 [B, k] and scores
      float32 [B, k], best first; -1 and -inf fill the rest.
    confidence: As in `answerer.Answerer`.
  """

  tokenizer: wordpiece.WordpieceTokenizer
  blocks: GraphBlocks
  num_blocks: int
  embedder: realm_model.RealmModel
  reader: realm_model.RealmModel
  search: Callable[[tf.Tensor, int], tuple[tf.Tensor, tf.Tensor]]
  lengths: config_lib.LengthConfig
  finetuning: config_lib.FinetuningConfig
  confidence: calibration_lib.Confidence = calibration_lib.Confidence()

  @property
  def num_read(self) -> int:
    """K, the number of blocks read per question."""
    return min(self.finetuning.num_read, self.num_blocks)

  def answer(self, questions: tf.Tensor) -> dict[str, tf.Tensor]:
    """Answers `questions`, string [B], as one batch.

    Returns:
      Fields of `answer.Answer`: 'answers' string [B], 'scores',
      'probabilities' and 'null_probabilities' float32 [B], 'is_refused' bool
      [B]. Fields of `answer.Evidence`: 'block_ids', 'starts' and 'ends' int32
      [B, K], 'titles', 'texts' and 'evidence_answers' string [B, K], and
      'retrieval_probabilities' and 'evidence_scores' float32 [B, K].
    """
    questions = string_tensors.valid(questions)
    ids = string_tensors.token_ids(
      self.tokenizer, questions, self.lengths.searched_tokens
    )
    queries = self.embedder.embed_queries(
      trim(
        joining.pack_longest(
          ids, None, *self.tokenizer.special_ids, self.lengths.query_tokens
        )
      )
    )
    block_ids, scores = self.search(
      queries, num_searched(self.finetuning, self.num_blocks)
    )
    ids = ids[:, : self.lengths.question_tokens]
    read_ids = block_ids[:, : self.num_read]
    texts = tf.where(
      read_ids >= 0, self.blocks.texts(tf.maximum(read_ids, 0)), ''
    )
    tokens = string_tensors.tokenize(self.tokenizer, tf.reshape(texts, [-1]))
    read = self._read(ids, read_ids, tokens.ids, scores)
    evidence = find(texts, tokens, read, self.finetuning.answer_by)
    titles = self.blocks.titles(tf.maximum(read_ids, 0))
    return {
      **fields(evidence, scores, read_ids, self.confidence),
      'titles': evidence.of_blocks(titles, ''),
      'texts': evidence.of_blocks(texts, ''),
    }

  def _read(self, question_ids, read_ids, body_ids, scores):
    """Returns `interfaces.Scores` plus retrieval scores."""
    num_read, at_most = self.num_read, self.finetuning.joint_tokens
    bodies = body_ids[:, : at_most - 3].to_tensor(shape=[None, at_most - 3])
    titles = None
    if self.finetuning.read_titles:
      names = self.blocks.titles(tf.maximum(read_ids, 0))
      titles = string_tensors.token_ids(
        self.tokenizer, tf.reshape(names, [-1]), self.lengths.title_tokens
      )
      titles = tf.reshape(titles, [-1, num_read, titles.shape[1]])
    joint = joining.pack_pairs(
      question_ids,
      tf.reshape(bodies, [-1, num_read, at_most - 3]),
      *self.tokenizer.special_ids,
      at_most,
      titles,
    )
    joint = trim(joint)
    num_body = tf.reduce_sum(joint['input_type_ids'], axis=-1) - 1
    body_length = tf.maximum(tf.reduce_max(num_body), 1)
    spans, null = self.reader.span_reader(joint, body_length)
    scores = scores[:, :num_read]
    found = (scores > -float('inf')) & (num_body > 0)
    spans += scores[:, :, None, None]
    return interfaces.Scores(
      tf.where(found[:, :, None, None], spans, interfaces.NO_SCORE),
      tf.where(found, null + scores, interfaces.NO_SCORE),
    )


def trim(tokens: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
  """Removes columns with padding in every row from packed wordpieces."""
  used = tf.reduce_sum(tokens['input_mask'], axis=-1)
  length = tf.maximum(tf.reduce_max(used), 2)  # 2 for an empty batch.
  return {name: value[..., :length] for name, value in tokens.items()}


class Evidence(NamedTuple):
  """The best spans of each block, and the choice to show.

  Attributes:
    spans: The best S of each block.
    choice: The spans to show, in order.
    starts: First character of each span in the block's text, int32 [B, K, S].
    ends: First character after each span, int32 [B, K, S].
    texts: Text of each span, string [B, K, S].
  """

  spans: answer_choice.Spans
  choice: answer_choice.Choice
  starts: tf.Tensor
  ends: tf.Tensor
  texts: tf.Tensor

  def of_blocks(self, values: tf.Tensor, nothing) -> tf.Tensor:
    """Returns `values` of the shown blocks, or `nothing`, [B, K]."""
    shown = tf.gather(values, self.choice.columns, batch_dims=1)
    return tf.where(self.choice.exists, shown, nothing)

  def of_spans(self, values: tf.Tensor, nothing) -> tf.Tensor:
    """Returns `values`, [B, K, S], of the shown spans, or `nothing`, [B, K]."""
    rows = tf.gather(values, self.choice.columns, batch_dims=1)
    shown = tf.gather(rows, self.choice.places, batch_dims=2)
    return tf.where(self.choice.exists, shown, nothing)


def find(
  texts: tf.Tensor,
  tokens: string_tensors.Tokens,
  scores: interfaces.Scores,
  answer_by: str,
) -> Evidence:
  """Finds the answer.

  Args:
    texts: Texts of the blocks, string [B, K].
    tokens: Wordpieces of the B * K texts.
    scores: Sums of span and retrieval scores.
  """
  spans = best_spans(*scores)
  starts, ends, cut = _cut(texts, tokens, spans)
  # Integers that are equal where `answer_choice.key` is equal.
  keys = string_tensors.normalize_answers(cut)
  keys = tf.reshape(tf.where(keys == '', cut, keys), [-1])
  keys = tf.reshape(tf.unique(keys).idx, tf.shape(cut))
  choice = answer_choice.choose(spans.scores, keys, answer_by, tnp)
  return Evidence(spans, choice, starts, ends, cut)


def best_spans(scores: tf.Tensor, null: tf.Tensor) -> answer_choice.Spans:
  """Does `answer_choice.best_spans` in a graph, always with S = NUM_SPANS."""
  num_read, width = scores.shape[1], scores.shape[3]
  shape = tf.shape(scores)
  flat = tf.reshape(scores, [shape[0], num_read, shape[2] * width])
  flat = tf.where(interfaces.has_score(flat), flat, answer_choice.NOTHING)
  number = answer_choice.NUM_SPANS
  flat = tf.pad(
    flat, [[0, 0], [0, 0], [0, number]], constant_values=answer_choice.NOTHING
  )
  values, places = tf.math.top_k(flat, number)
  firsts = places // width
  null = tf.where(interfaces.has_score(null), null, answer_choice.NOTHING)
  return answer_choice.Spans(
    firsts,
    firsts + places % width,
    values,
    answer_choice.log_sum_exp(flat, tnp),
    null,
  )


def fields(
  evidence: Evidence,
  scores: tf.Tensor,
  read_ids: tf.Tensor,
  confidence: calibration_lib.Confidence,
) -> dict[str, tf.Tensor]:
  """Returns the fields of `GraphAnswerer.answer`, but titles and texts.

  `scores` are f(x,z) of all found blocks, also of unread ones, float32 [B, k].
  """
  choice = evidence.choice
  covered = evidence.of_blocks(answer_choice.softmax(scores, tnp), 0.0)
  answered = choice.exists[:, 0]
  unread = 1.0 - tf.reduce_sum(covered, axis=-1)
  signals = calibration_lib.signals(choice, evidence.spans, unread, tnp)
  right = tf.where(answered, confidence.probability(signals, tnp), 0.0)
  shares = answer_choice.softmax(scores[:, : read_ids.shape[1]], tnp)
  answers = evidence.of_spans(evidence.texts, '')
  return {
    'answers': answers[:, 0],
    'scores': tf.where(answered, choice.scores, interfaces.NO_SCORE),
    'probabilities': right,
    'null_probabilities': tf.where(answered, tf.maximum(unread, 0.0), 1.0),
    'is_refused': confidence.refuses(right, signals.null),
    'block_ids': evidence.of_blocks(read_ids, interfaces.NULL_BLOCK),
    'starts': evidence.of_spans(evidence.starts, 0),
    'ends': evidence.of_spans(evidence.ends, 0),
    'evidence_answers': answers,
    'evidence_scores': evidence.of_spans(
      evidence.spans.scores, interfaces.NO_SCORE
    ),
    'retrieval_probabilities': evidence.of_blocks(shares, 0.0),
  }


def _cut(texts, tokens, spans):
  """Returns the spans' first characters, ends and texts, [B, K, S]."""
  shape = tf.shape(spans.firsts)
  number = shape[2]
  rows = tf.repeat(tf.range(shape[0] * shape[1]), number)  # [B * K * S]
  texts = tf.gather(tf.reshape(texts, [-1]), rows)
  exists = tf.reshape(spans.scores, [-1]) > -float('inf')
  row_starts = tf.gather(tokens.ids.row_starts(), rows)

  def place(offsets, pieces):
    pieces = row_starts + tf.cast(tf.reshape(pieces, [-1]), tf.int64)
    pieces = tf.where(exists, pieces, 0)
    # One element more, in case there is no wordpiece.
    values = tf.concat([offsets.values, [0]], axis=0)
    places = tf.where(exists, tf.gather(values, pieces), 0)
    return string_tensors.characters(texts, places)

  starts = place(tokens.starts, spans.firsts)
  last_starts = place(tokens.starts, spans.lasts)
  # Of the pieces of an expanded character, only the last one has a width.
  ends = tf.maximum(place(tokens.ends, spans.lasts), last_starts + 1)
  ends = tf.where(exists, ends, 0)
  cut = tf.strings.substr(texts, starts, ends - starts, unit='UTF8_CHAR')
  return tuple(tf.reshape(values, shape) for values in (starts, ends, cut))
