"""Questions with their answers, from JSONL files."""

from typing import Any, NamedTuple

from realm_tf import errors
from realm_tf.corpus import files


class Question(NamedTuple):
  """A question and the answers that count as right.

  Attributes:
    question: As it is asked.
    answers: Strings, or regular expressions; at least one.
    regex: Whether `answers` are regular expressions (CuratedTREC).
    question_id: From the file, else ''.
    gold_id: Id of the article that the question was written on, else ''.
  """

  question: str
  answers: tuple[str, ...]
  regex: bool = False
  question_id: str = ''
  gold_id: str = ''


def read_questions(path: str) -> list[Question]:
  """Reads JSONL or JSONL.gz, from a file or a glob.

  A line is {"question": str, "answers": [str], "regex": optional bool, "id":
  optional, "gold_id": optional}; ORQA's "answer" is read too.

  Raises:
    errors.UserError: A missing file, a bad line, or no question at all.
  """
  questions = [
    _parse(where, record)
    for file in files.find_files(path)
    for where, record in files.read_json_lines(file)
  ]
  if not questions:
    raise errors.UserError(
      f'{path} must have at least one question; it is empty.'
    )
  return questions


def _parse(where: str, record: dict[str, Any]) -> Question:
  question = record.get('question')
  if not isinstance(question, str) or not question.strip():
    raise errors.UserError(
      f"{where} must have 'question', a string; it has {question!r:.40}."
    )
  answers = record.get('answers', record.get('answer'))
  if isinstance(answers, str):
    answers = [answers]
  if (
    not isinstance(answers, list)
    or not answers
    or not all(isinstance(answer, str) for answer in answers)
  ):
    raise errors.UserError(
      f"{where} must have 'answers', a list of strings; it has {answers!r:.40}."
    )
  regex = record.get('regex', False)
  if not isinstance(regex, bool):
    raise errors.UserError(
      f"{where} must have true or false as 'regex'; it has {regex!r:.40}."
    )
  return Question(
    question, tuple(answers), regex, _id(record, 'id'), _id(record, 'gold_id')
  )


def _id(record: dict[str, Any], key: str) -> str:
  return '' if record.get(key) is None else str(record[key])
