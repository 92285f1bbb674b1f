"""Reads articles, questions and tagged sentences of datasets.

'tfds:NAME[@SPLIT]' or 'hf_disk:DIR[@SPLIT]' -> [this file] -> plain tuples

TensorFlow Datasets, and Hugging Face datasets that were saved to disk. The only
import of tensorflow_datasets, done when a dataset is asked for.
"""

from collections.abc import Iterator
import re
from typing import Any, Optional

from realm_tf import errors
from realm_tf.corpus import arrow_folder

_TFDS, _HF_DISK = PREFIXES = 'tfds:', 'hf_disk:'

# How wiki40b marks up its texts.
_WIKI40B_TITLE = re.compile(r'\s*_START_ARTICLE_\n(.*)\n')
_WIKI40B_MARK = re.compile(r'_START_(SECTION|PARAGRAPH)_\n|_NEWLINE_')


def read_articles(name: str) -> Iterator[tuple[str, str, str]]:
  """Yields (title, text, id or '') of wikipedia, wiki40b and the like.

  Args:
    name: 'tfds:' and a name for tfds.load, e.g. 'wikipedia/20230601.en', or
      'hf_disk:' and a folder. A suffix '@SPLIT' replaces the split 'train';
      with 'tfds:' SPLIT may be a slice.

  Raises:
    UserError: The dataset cannot be prepared, or has no articles.
  """
  for record in _load(name, ['text'], 'articles', 'wikipedia/20230601.en'):
    text = _string(record['text'])
    if 'title' in record:
      title = _string(record['title'])
    else:
      match = _WIKI40B_TITLE.match(text)
      title = match.group(1) if match else ''
      text = text[match.end() :] if match else text
    text = _WIKI40B_MARK.sub('\n', text).strip()
    yield title, text, _string(record.get('id', ''))


def read_questions(name: str) -> Iterator[tuple[str, list[str], str]]:
  """Yields (question, answers, id or '') of a QA dataset; see `read_articles`.

  natural_questions_open, web_questions, squad and trivia_qa, whose value and
  aliases all count as answers.
  """
  example = 'natural_questions_open'
  for record in _load(name, ['question'], 'questions', example):
    answers = record.get('answers', record.get('answer', []))
    if isinstance(answers, dict):
      answers = (
        answers['text']
        if 'text' in answers
        else [answers['value'], *answers['aliases']]
      )
    question_id = record.get('id', record.get('question_id', b''))
    yield (
      _string(record['question']),
      list(dict.fromkeys(map(_string, answers))),
      _string(question_id),
    )


def read_tagged_sentences(
  name: str,
) -> Iterator[tuple[str, str, list[Optional[tuple[int, int]]]]]:
  """Yields (title, text, spans in characters); see `read_articles`.

  The authors of REALM trained on salient_span_wikipedia/sentences. Its spans
  are in bytes; one that cuts a character in two becomes None.

  Raises:
    UserError: As `read_articles`; or `name` begins with 'hf_disk:'.
  """
  if name.startswith(_HF_DISK):
    raise errors.UserError(
      f"Tagged sentences of a dataset must be '{_TFDS}NAME'; got {name}. Write "
      'them to a JSONL file.'
    )
  example = 'salient_span_wikipedia/sentences'
  for record in _load(name, ['text', 'spans'], 'tagged sentences', example):
    starts, ends = record['spans']['start'], record['spans']['limit']
    yield (
      _string(record.get('title', b'')),
      _string(record['text']),
      [
        _characters(record['text'], int(start), int(end))
        for start, end in zip(starts, ends, strict=True)
      ],
    )


def _load(
  item: str, keys: list[str], what: str, example: str
) -> Iterator[dict[str, Any]]:
  name, _, split = item.partition('@')
  split = split or 'train'
  if name.startswith(_HF_DISK):
    records = arrow_folder.read(name.removeprefix(_HF_DISK), split)
  else:
    records = _load_tfds(name.removeprefix(_TFDS), split)
  for record in records:
    if any(record.get(key) is None for key in keys):
      raise errors.UserError(
        f"'{name}' must have {what}, with {' and '.join(keys)}; it has "
        f'{", ".join(record)}. Choose e.g. {example}.'
      )
    yield record


def _load_tfds(name: str, split: str) -> Iterator[dict[str, Any]]:
  import tensorflow_datasets as tfds  # pylint: disable=g-import-not-at-top

  try:
    return iter(tfds.as_numpy(tfds.load(name, split=split)))
  except Exception as error:  # Any of dozens of types.
    raise errors.UserError(
      f"'{_TFDS}{name}' must be a dataset, and {split!r} a split of it, that "
      f'tfds.load can prepare; it says: {str(error)[:200]}'
    ) from error


def _string(value) -> str:
  if isinstance(value, bytes):
    return value.decode('utf-8', 'replace')
  return '' if value is None else str(value)


def _characters(text: bytes, start: int, end: int):
  try:
    before, inside = text[:start].decode(), text[start:end].decode()
  except UnicodeDecodeError:
    return None
  return len(before), len(before) + len(inside)
