"""Fields of records, under the names that different tools use.

Loads no TensorFlow: the processes that render Wikipedia import this file.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from realm_tf import errors
from realm_tf import json_text

# Names of an article's fields, and of a question's.
ARTICLE_ID = (
  '_id id docid doc_id document_id passage_id pid wikipedia_id'
).split()
TITLE = ['title', 'wikipedia_title']
TEXT = (
  'text contents content passage body abstract page_content paragraph_text '
  'context'
).split()
QUESTION = 'question query input user_input text'.split()
# RAGAS' `answer` is a model's, so the true one comes first.
ANSWERS = (
  'answers ground_truth ground_truths answer target golden_answers output '
  'possible_answers reference'
).split()
ALIASES = 'answer_aliases', 'aliases'
QUESTION_ID = 'id _id qid question_id query_id questionid'.split()
# Lists of records in a record, and LangChain's object in an object.
QUESTION_GROUPS = 'data', 'paragraphs', 'qas'
ARTICLE_GROUPS = (
  'data paragraphs contexts retrieved_contexts reference_contexts context '
  'kwargs'
).split()
# Objects with more fields of a document, such as LangChain's.
METADATA = 'metadata', 'meta'

Records = Iterator[tuple[str, dict[str, Any]]]  # Place, record.
_TABLE = dict[str, dict[str, Any]]
_SPLIT = json_text.object_of({'columns': list[str], 'data': list[list]})
# HotpotQA's paragraphs, in its own files and in Hugging Face's.
_TITLED = list[tuple[str, list[str]]]
_TITLES = json_text.object_of(
  {'title': list[str], 'sentences': list[list[str]]}
)


def find(record: Mapping[str, Any], names: Collection[str]) -> Any:
  """Returns the first value under `names` that is not null; else None.

  Case is ignored if the record has none of `names` exactly.
  """
  if record.keys().isdisjoint(names):
    record = lower(record)
  for name in names:  # A plain loop is fast; every article passes here.
    value = record.get(name)
    if value is not None:
      return value
  return None


def expand(
  where: str,
  record: Mapping[str, Any],
  names: Collection[str],
  groups: Sequence[str],
) -> Iterator[tuple[str, Any]]:
  """Yields (place, record) of the records in a record; else itself.

  They are in one of `groups`, as in SQuAD's file, unless the record has one of
  `names`; a title is handed down to them. A table that pandas wrote holds its
  rows, and MRQA's header nothing.
  """
  kind, parts = 'row', _rows(record, names)
  if not parts and record.keys().isdisjoint(names):
    fields = lower(record)
    lists = (n for n in groups if isinstance(fields.get(n), (list, dict)))
    kind = next(lists, '') if fields.keys().isdisjoint(names) else ''
    if kind:
      parts = _parts(where, kind, fields[kind])
      named = {'title': fields['title']} if fields.get('title') else {}
      parts = [
        {**named, **each} if isinstance(each, dict) else each for each in parts
      ]
  if parts or kind == 'qas':  # A context without questions loses none.
    for number, part in enumerate(parts, 1):
      place = f'{where}, {kind} {number}'
      if isinstance(part, dict):
        yield from expand(place, part, names, groups)
      else:
        yield place, part
  elif record.keys() != {'header'}:
    yield where, record


def _rows(record: Mapping[str, Any], names: Collection[str]) -> list[Any]:
  """Returns the rows of DataFrame.to_json: orient columns, index or split."""
  if 'columns' in record and json_text.holds(record, _SPLIT):
    return [dict(zip(record['columns'], row)) for row in record['data']]
  inner = next(iter(record.values()), None)
  if not isinstance(inner, dict) or not json_text.holds(record, _TABLE):
    return []
  if any(column.keys() != inner.keys() for column in record.values()):
    return []
  if not lower(record).keys().isdisjoint(names):
    table = {
      key: {name: column[key] for name, column in record.items()}
      for key in inner
    }
  else:
    table = {} if lower(inner).keys().isdisjoint(names) else dict(record)
  # Numbers are the rows' own; other words were made an index.
  return [
    row if key.isdigit() else {'id': key, **row} for key, row in table.items()
  ]


def _parts(where: str, kind: str, value: Any) -> list[Any]:
  """Returns the records in a group of a record."""
  if json_text.holds(value, _TITLES):
    value = list(zip(value['title'], value['sentences']))
  if json_text.holds(value, _TITLED):
    return [{'title': title, 'text': [text]} for title, text in value]
  if kind == 'kwargs':
    return [value]
  if not isinstance(value, list):
    raise errors.UserError(
      f"{where} must have '{kind}', a list of objects. Found {value!r:.40}. "
      'Correct it.'
    )
  return [{'text': each} if isinstance(each, str) else each for each in value]


def check_names(
  where: str, given: Sequence[str], names: Collection[str]
) -> None:
  """Raises UserError if two given names are the same of `names`, in any case.

  One of `names` that is not in lower case says which is meant.
  """
  if len({*map(str.lower, given)}) < len(given):
    for name in sorted(names):
      same = [each for each in given if name in (each, each.lower())]
      if len(same) > 1:
        raise errors.UserError(
          f'{where} must have fields of different names, in any case. Found '
          f'{" and ".join(map(repr, same))}. Rename the others.'
        )


def lower(record: Mapping[str, Any]) -> dict[str, Any]:
  """Returns a record with its names in lower case."""
  return {key.lower(): value for key, value in record.items()}


def text_id(where: str, value: Any) -> str:
  """Returns a str or int id as text, '' for null; else UserError."""
  if value is None:
    return ''
  if isinstance(value, (str, int)) and not isinstance(value, bool):
    return str(value)
  raise errors.UserError(
    f'{where} must have a string or an integer as id. Found {value!r:.40}. '
    'Write it as a string.'
  )


def text(where: str, name: str, value: Any) -> str:
  """Returns a string; else UserError, by the name of its field."""
  if isinstance(value, str):
    return value
  raise errors.UserError(
    f"{where} must have '{name}', a string. Found {value!r:.40}. Correct it."
  )
