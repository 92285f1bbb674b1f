"""QA examples: questions with searched blocks and where their answers stand.

questions -> search with current parameters -> [this file] -> batch
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Optional

import numpy as np

from realm_tf import config as config_lib
from realm_tf.records import answer_spans
from realm_tf.records import block_table
from realm_tf.records import sampling
from realm_tf.retrieval import retriever

# Multiples that batches are trimmed to: few shapes, for each one is traced.
_QUESTION_WIDTH, _BODY_WIDTH = 32, 16


class TokenizedQuestions(NamedTuple):
  """Questions as wordpieces.

  Attributes:
    texts: Q questions.
    ids: int32 [Q, Lq], zeros behind.
    answers: Wordpieces of each answer of each question.
  """

  texts: Sequence[str]
  ids: np.ndarray
  answers: Sequence[Sequence[np.ndarray]]


# (rows of the questions, their wordpieces, N) -> the N best blocks.
Search = Callable[[np.ndarray, np.ndarray, int], retriever.Retrieved]


def batches(
  questions: TokenizedQuestions,
  table: block_table.BlockTable,
  search: Search,
  embeddings: Optional[np.ndarray],
  experiment: config_lib.ExperimentConfig,
) -> Iterator[dict[str, np.ndarray]]:
  """Yields endless batches; see `finetuning_trainer.FinetuningTrainer`.

  Args:
    questions: Of the training set.
    table: The corpus.
    search: Called when a batch is asked for, so with current parameters.
    embeddings: Of the blocks, float [N, D]; None if f(x,z) is what `search`
      says, without a gradient.
    experiment: Batch size, N, K, lengths, and the seed of the order.

  Yields:
    Batches.
  """
  config = experiment.finetuning
  sampler = sampling.Sampler(
    len(questions.ids), config.batch_size, experiment.seed
  )
  step = 0
  while True:
    rows = sampler.rows(step)
    question_ids = sampling.trim(questions.ids[rows], _QUESTION_WIDTH)
    found = search(rows, question_ids, config.num_searched)
    labels = _labels(
      [questions.answers[row] for row in rows],
      found.block_ids,
      table,
      config,
      experiment.model.max_span_width,
    )
    yield {
      'question_ids': question_ids,
      **_scoring(found, embeddings),
      **labels,
    }
    step += 1


def _scoring(found, embeddings):
  """Returns how the searched blocks of a batch are scored."""
  is_found = found.block_ids >= 0
  if embeddings is None:
    fixed = np.where(is_found, found.scores, 0).astype(np.float32)
    return {'is_found': is_found, 'fixed_scores': fixed}
  blocks = np.maximum(found.block_ids, 0)
  vectors = np.asarray(embeddings[blocks.ravel()], np.float32)
  vectors = vectors.reshape([*blocks.shape, -1])
  return {'is_found': is_found, 'block_embeddings': vectors}


def _labels(answers, block_ids, table, config, max_width):
  """Returns 'has_answer', 'read_rows', 'body_ids', 'is_answer' of a batch."""
  _, bodies = table.gather(block_ids, 1, config.joint_tokens)  # [B, N, Lz]
  bodies = sampling.trim(bodies, _BODY_WIDTH)
  num_read, length = config.num_read, bodies.shape[2]
  has_answer = np.zeros(block_ids.shape, bool)
  read_rows = np.tile(np.arange(num_read, dtype=np.int32), [len(answers), 1])
  is_answer = np.zeros([*read_rows.shape, length, max_width], bool)
  for i, answer in enumerate(answers):
    has_answer[i], spans = answer_spans.find(bodies[i], answer, max_width)
    if config.read_answer_block and not has_answer[i, :num_read].any():
      # The first that has the answer; the last that is read if none has it.
      read_rows[i, -1] = np.argmax(has_answer[i]) or num_read - 1
    is_answer[i] = spans[read_rows[i]]
  read = np.take_along_axis(bodies, read_rows[:, :, None], axis=1)
  read = sampling.trim(read, _BODY_WIDTH)
  return {
    'has_answer': has_answer,
    'read_rows': read_rows,
    'body_ids': read,
    'is_answer': is_answer[:, :, : read.shape[2]],
  }
