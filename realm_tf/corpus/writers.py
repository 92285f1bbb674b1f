"""Writes articles and questions as JSONL that this package reads."""

from collections.abc import Iterable, Mapping
import json
import os
from typing import Any

import tensorflow as tf

from realm_tf.corpus import questions as questions_lib
from realm_tf.corpus import sources


def write_articles(articles: Iterable[sources.Article], path: str) -> None:
  """Writes articles as the JSONL that `sources` reads."""
  _write_rows(
    ({'title': a.title, 'text': a.text, 'id': a.article_id} for a in articles),
    path,
  )


def write_questions(
  questions: Iterable[questions_lib.Question], path: str
) -> None:
  """Writes questions as the JSONL that `questions` reads.

  A question without an answer is_impossible, as in SQuAD 2.0.
  """
  _write_rows(
    (
      {
        'question': question.question,
        'answers': question.answers,
        **({} if question.answers else {'is_impossible': True}),
        'id': question.question_id,
        'gold_id': question.gold_id,
        **({'regex': True} if question.regex else {}),
      }
      for question in questions
    ),
    path,
  )


def _write_rows(rows: Iterable[Mapping[str, Any]], path: str) -> None:
  tf.io.gfile.makedirs(os.path.dirname(path))
  with tf.io.gfile.GFile(path, 'w') as file:
    for row in rows:
      file.write(json.dumps(row, ensure_ascii=False) + '\n')
