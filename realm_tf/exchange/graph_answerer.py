"""Questions as strings -> answers and evidence, in one graph.

  string [B] -> wordpieces -> f(x,z) of all blocks -> K blocks -> spans -> text

The graph gives the answers of `answering.answerer` without Python. It tokenizes
the K blocks for each question, which costs far less than reading them, and
gives the offsets of wordpieces.
"""

from collections.abc import Callable
import dataclasses
from typing import Optional

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.data import joining
from realm_tf.exchange import graph_evidence
from realm_tf.model import exclusion
from realm_tf.model import realm_model
from realm_tf.model import span_reader
from realm_tf.qa import calibration as calibration_lib
from realm_tf.text import string_tensors
from realm_tf.text import wordpiece


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
    calibration: As in `answerer.Answerer`; so is `threshold`.
  """

  tokenizer: wordpiece.WordpieceTokenizer
  blocks: graph_evidence.GraphBlocks
  num_blocks: int
  embedder: realm_model.RealmModel
  reader: realm_model.RealmModel
  search: Callable[[tf.Tensor, int], tuple[tf.Tensor, tf.Tensor]]
  lengths: config_lib.LengthConfig
  finetuning: config_lib.FinetuningConfig
  calibration: Optional[calibration_lib.Calibration] = None
  threshold: float = 0.0

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
    block_ids, scores = self.search(
      self._embed(ids), num_searched(self.finetuning, self.num_blocks)
    )
    ids = ids[:, : self.lengths.question_tokens]
    read_ids = block_ids[:, : self.num_read]
    texts = tf.where(
      read_ids >= 0, self.blocks.texts(tf.maximum(read_ids, 0)), ''
    )
    tokens = string_tensors.tokenize(self.tokenizer, tf.reshape(texts, [-1]))
    read = self._read(ids, read_ids, tokens.ids, scores)
    evidence = graph_evidence.find(
      texts, tokens, read, self.finetuning.answer_by
    )
    titles = self.blocks.titles(tf.maximum(read_ids, 0))
    return {
      **graph_evidence.summary(
        evidence, scores, self.calibration, self.threshold
      ),
      **graph_evidence.of_blocks(evidence, scores, read_ids),
      'titles': evidence.of_blocks(titles, ''),
      'texts': evidence.of_blocks(texts, ''),
    }

  def _embed(self, question_ids):
    tokens = joining.pack_longest(
      question_ids, None, *self.tokenizer.special_ids, self.lengths.query_tokens
    )
    return self.embedder.embed_queries(trim(tokens))

  def _read(self, question_ids, read_ids, body_ids, scores):
    """Returns `span_reader.Scores` plus retrieval scores."""
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
    return span_reader.Scores(
      tf.where(found[:, :, None, None], spans, exclusion.NO_SCORE),
      tf.where(found, null + scores, exclusion.NO_SCORE),
    )


def trim(tokens: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
  """Removes columns with padding in every row from packed wordpieces."""
  used = tf.reduce_sum(tokens['input_mask'], axis=-1)
  length = tf.maximum(tf.reduce_max(used), 2)  # 2 for an empty batch.
  return {name: value[..., :length] for name, value in tokens.items()}
