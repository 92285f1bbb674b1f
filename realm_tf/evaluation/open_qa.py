"""Runs a question set and writes what came out.

  questions -> blocks -> answers -> predictions.jsonl, metrics.json

What finds blocks and what reads them are arguments: a model, BM25, or BM25
with a model's reader; without a reader only recall is measured.
"""

from collections.abc import Callable, Sequence
import dataclasses
import json
import os
from typing import Optional

import numpy as np
import tensorflow as tf
import tqdm

from realm_tf.answering import answerer as answerer_lib
from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import exact_match
from realm_tf.evaluation import retrieval_recall
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.text import answers as answers_lib

PREDICTIONS = 'predictions.jsonl'
METRICS = 'metrics.json'


@dataclasses.dataclass(frozen=True)
class OpenQa:
  """A system under evaluation.

  Attributes:
    matcher: Knows which blocks hold an answer.
    retrieve: (questions, k) -> their k best blocks.
    read: (questions, retrieved blocks) -> answers; None to measure recall only.
    num_read: Blocks that `read` wants at least.
    batch_size: Questions between two moves of the progress bar.
  """

  matcher: answers_lib.AnswerMatcher
  retrieve: Callable[[Sequence[str], int], retriever_lib.Retrieved]
  read: Optional[
    Callable[
      [Sequence[str], retriever_lib.Retrieved], list[answerer_lib.Answer]
    ]
  ] = None
  num_read: int = 0
  batch_size: int = 64

  def run(
    self,
    questions: Sequence[questions_lib.Question],
    recall_at: Sequence[int],
    output_dir: str,
  ) -> dict[str, float]:
    """Answers all questions and writes both files.

    Args:
      questions: At least one.
      recall_at: The k of recall@k; a corpus with fewer blocks counts whole.
      output_dir: Made if missing. Predictions are only written if there is a
        reader.

    Returns:
      What metrics.json holds: counts, and means in percent.
    """
    retrieved_ids, answers = [], []
    num_retrieved = max(self.num_read, *recall_at)
    with tqdm.tqdm(total=len(questions), unit='question') as progress:
      for start in range(0, len(questions), self.batch_size):
        batch = [
          question.question
          for question in questions[start : start + self.batch_size]
        ]
        retrieved = self.retrieve(batch, num_retrieved)
        retrieved_ids.append(retrieved.block_ids)
        if self.read:
          answers += self.read(batch, retrieved)
        progress.update(len(batch))
    block_ids = np.concatenate(retrieved_ids)
    metrics = {'num_questions': len(questions)}
    if self.read:
      quality = exact_match.measure(
        [answer.prediction for answer in answers], questions
      )
      metrics.update(quality._asdict())
      metrics['exact_match_one_block'] = exact_match.measure(
        _predictions_of_first_block(answers, block_ids), questions
      ).exact_match
    metrics.update(self._recall(block_ids, questions, recall_at))
    _write(answers if self.read else None, metrics, output_dir)
    return metrics

  def _recall(self, block_ids, questions, recall_at):
    cut = {k: min(k, block_ids.shape[1]) for k in recall_at}
    recall = retrieval_recall.recall_at(
      block_ids, self.matcher, questions, sorted(set(cut.values()))
    )
    return {f'recall@{k}': recall[cut[k]] for k in recall_at}


def find_nothing(questions: Sequence[str], k: int) -> retriever_lib.Retrieved:
  """Closed book: only the null block, which has no span to answer with."""
  shape = [len(questions), k]
  return retriever_lib.Retrieved(
    np.full(shape, -1, np.int32), np.full(shape, -np.inf, np.float32)
  )


def _predictions_of_first_block(answers, block_ids):
  """Returns what each question's first block alone answers, '' for nothing."""
  return [
    next(
      (item.answer for item in answer.evidence if item.block_id == first), ''
    )
    for answer, first in zip(answers, block_ids[:, 0], strict=True)
  ]


def _write(answers, metrics, output_dir):
  tf.io.gfile.makedirs(output_dir)
  if answers is not None:
    path = os.path.join(output_dir, PREDICTIONS)
    with tf.io.gfile.GFile(path, 'w') as file:
      for answer in answers:
        file.write(json.dumps(answer.as_json(), ensure_ascii=False) + '\n')
  with tf.io.gfile.GFile(os.path.join(output_dir, METRICS), 'w') as file:
    file.write(json.dumps(metrics, indent=2) + '\n')
