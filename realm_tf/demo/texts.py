"""Unpacks the demonstration's texts, and changes one fact of them.

README.md of this folder describes the files.
"""

from collections.abc import Iterable, Iterator
import json
import lzma
import os
import pathlib
import re
from typing import Any

import tensorflow as tf

from realm_tf import json_text

_PACKED = pathlib.Path(__file__).parent


def unpack(output_dir: str) -> list[str]:
  """Writes all files to a directory; returns their names."""
  tf.io.gfile.makedirs(output_dir)
  names = sorted(path.stem for path in _PACKED.glob('*.jsonl.xz'))
  for name in names:
    with tf.io.gfile.GFile(os.path.join(output_dir, name), 'wb') as file:
      file.write(_unpacked(name))
  return names


def change_fact(rightly_answered: Iterable[str], output_dir: str) -> bool:
  """Writes the articles with one changed fact; returns whether there is one.

  An article gets the value that another article has for the same relation. It
  states each fact twice. A list, and a value that stands elsewhere in the
  article, too, cannot be changed without another fact. The files: articles, the
  question about the fact with its new answers, and both answers.

  Args:
    rightly_answered: Ids of test questions, 'KIND/NUMBER/RELATION'; the first
      whose fact can be changed is taken.
  """
  articles = {row['id']: row for row in _rows('articles')}
  questions = {row['id']: row for row in _rows('test_questions')}
  for name in filter(questions.__contains__, rightly_answered):
    asked = questions[name]
    old = asked['answers'][0]
    article = articles[asked['gold_id']]
    text, count = re.subn(_word(old), '\0', article['text'])
    kind, _, relation = name.split('/')
    values = (
      other['answers'][0]
      for number, other in questions.items()
      if number.startswith(f'{kind}/') and number.endswith(f'/{relation}')
    )
    whole = f'{article["title"]}. {article["text"]}'
    new = next((v for v in values if not re.search(_word(v), whole)), '')
    if count == 2 and new and all(old in a for a in asked['answers']):
      article['text'] = text.replace('\0', new)
      answers = [answer.replace(old, new) for answer in asked['answers']]
      tf.io.gfile.makedirs(output_dir)
      path = os.path.join(output_dir, '{}').format
      json_text.write_lines(path('articles.jsonl'), articles.values())
      question = {**asked, 'answers': answers}
      json_text.write_lines(path('question.jsonl'), [question])
      row = {'question': asked['question'], 'old_answer': old}
      json_text.write(path('changed.json'), {**row, 'new_answer': answers[0]})
      return True
  return False


def _word(value: str) -> str:
  """Returns a pattern of the value as whole words."""
  return rf'(?<!\w){re.escape(value)}(?!\w)'


def _rows(name: str) -> Iterator[dict[str, Any]]:
  return map(json.loads, _unpacked(f'{name}.jsonl').splitlines())


def _unpacked(name: str) -> bytes:
  return lzma.decompress((_PACKED / f'{name}.xz').read_bytes())
