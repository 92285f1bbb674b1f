"""TensorFlow Serving's REST API: what comes in.

  {"instances": ["who ...?", ...]}           -> questions, by rows
  {"inputs": {"questions": ["who ...?"]}}    -> questions, by columns
  whatever is wrong                          -> RequestError

Forms and codes are those of TensorFlow Serving, so that a client of this server
needs no change for that one (https://www.tensorflow.org/tfx/serving/api_rest).
Nothing here knows of HTTP or of models.
"""

import base64
import binascii
import json
import re
from typing import Any, NamedTuple

SIGNATURE = 'serving_default'
INPUT = 'questions'
_MAX_DEPTH = 8
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
# Of controls, only what separates words.
_CONTROLS = re.compile('[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]')


class RequestError(Exception):
  """A client's mistake.

  Attributes:
    status: HTTP status code.
    message: One sentence or two: what must be, and what was found.
  """

  def __init__(self, status: int, message: str):
    super().__init__(message)
    self.status = status
    self.message = message


class Limits(NamedTuple):
  """How much one request may hold.

  Attributes:
    questions: Most questions.
    characters: Most characters of a question; the reader sees far fewer.
  """

  questions: int = 128
  characters: int = 4096


class Predict(NamedTuple):
  """A parsed request.

  Attributes:
    questions: At least one.
    by_rows: Whether it came as "instances", and is answered so.
  """

  questions: list[str]
  by_rows: bool


def parse_json(body: bytes) -> dict[str, Any]:
  """Returns the JSON object that `body` is.

  Raises:
    RequestError: 400; it is not UTF-8, not JSON, no object, or too deep.
  """
  if not body.strip():
    raise RequestError(400, 'The body must be a JSON object. It is empty.')
  _check_depth(body)
  try:
    parsed = json.loads(body.decode('utf-8'), parse_constant=_no_constant)
  except UnicodeDecodeError as error:
    raise RequestError(
      400, f'The body must be UTF-8. Byte {error.start} is not.'
    ) from error
  except json.JSONDecodeError as error:
    raise RequestError(
      400,
      f'The body must be JSON. {error.msg} at line {error.lineno}, column '
      f'{error.colno}.',
    ) from error
  except (ValueError, RecursionError) as error:  # A number of many digits.
    raise RequestError(
      400, 'The body must be JSON of plain strings and numbers.'
    ) from error
  if not isinstance(parsed, dict):
    raise RequestError(
      400, f'The body must be a JSON object. Got {_kind(parsed)}.'
    )
  return parsed


def parse_predict(body: bytes, limits: Limits) -> Predict:
  """Returns the questions of the body of a :predict request.

  Raises:
    RequestError: 400, or 413 if there are too many questions.
  """
  request = parse_json(body)
  unknown = set(request) - {'signature_name', 'instances', 'inputs'}
  if unknown:
    raise RequestError(400, f'Unknown key {_shown(min(unknown))}.')
  signature = request.get('signature_name', SIGNATURE)
  if signature not in (SIGNATURE, ''):
    raise RequestError(
      400, f'The signature is "{SIGNATURE}". Got {_shown(signature)}.'
    )
  if ('instances' in request) == ('inputs' in request):
    raise RequestError(
      400, 'A request must have either "instances" or "inputs".'
    )
  by_rows = 'instances' in request
  if by_rows:
    values = _list(request['instances'], '"instances"')
    values = [_named(value) for value in values]
  else:
    values = _list(_named(request['inputs']), f'"{INPUT}"')
  if len(values) > limits.questions:
    raise RequestError(
      413,
      f'A request may have {limits.questions} questions. Got {len(values)}.',
    )
  return Predict([_question(value, limits) for value in values], by_rows)


def check_text(text: Any, what: str, characters: int) -> str:
  """Returns `text` if it is a string that can be worked on.

  Args:
    text: Anything.
    what: It is called in the message.
    characters: It may have.

  Raises:
    RequestError: 400.
  """
  if not isinstance(text, str):
    raise RequestError(400, f'{what} must be a string. Got {_kind(text)}.')
  if not text.strip():
    raise RequestError(400, f'{what} must not be empty.')
  if len(text) > characters:
    raise RequestError(
      400, f'{what} may have {characters} characters. Got {len(text)}.'
    )
  if _CONTROLS.search(text):
    raise RequestError(400, f'{what} must not have control characters.')
  if re.search('[\ud800-\udfff]', text):
    raise RequestError(400, f'{what} must not have lone surrogates.')
  return text


def _named(value: Any) -> Any:
  """Returns the input's value: given alone, or under its name."""
  if not isinstance(value, dict) or set(value) == {'b64'}:
    return value
  if set(value) != {INPUT}:
    found = ', '.join(_shown(name) for name in sorted(value)[:3]) or 'none'
    raise RequestError(400, f'The one input is "{INPUT}". Got {found}.')
  return value[INPUT]


def _list(value: Any, what: str) -> list:
  if not isinstance(value, list):
    raise RequestError(400, f'{what} must be a list. Got {_kind(value)}.')
  if not value:
    raise RequestError(400, f'{what} must not be empty.')
  return value


def _question(value: Any, limits: Limits) -> str:
  if isinstance(value, dict) and set(value) == {'b64'}:
    value = _decoded(value['b64'])
  return check_text(value, 'A question', limits.characters)


def _decoded(value: Any) -> str:
  """Returns the text of {"b64": value}, TensorFlow Serving's way for bytes."""
  try:
    return base64.b64decode(value, validate=True).decode('utf-8')
  except (TypeError, ValueError, binascii.Error) as error:
    raise RequestError(
      400, '"b64" must be the base64 of a question in UTF-8.'
    ) from error


def _check_depth(body: bytes):
  if body.count(b'[') + body.count(b'{') <= _MAX_DEPTH:
    return
  depth = 0
  for bracket in re.findall(rb'[\[\]{}]', _STRING.sub(b'', body)):
    depth += 1 if bracket in b'[{' else -1
    if depth > _MAX_DEPTH:
      raise RequestError(
        400, f'The body must be JSON of at most {_MAX_DEPTH} levels.'
      )


def _no_constant(name):
  raise ValueError(name)


def _kind(value: Any) -> str:
  """Returns what JSON calls it."""
  names = {
    dict: 'an object',
    list: 'a list',
    str: 'a string',
    bool: 'a boolean',
  }
  return names.get(type(value), 'null' if value is None else 'a number')


def _shown(value: Any) -> str:
  """Returns a short, printable form of what a client sent."""
  return json.dumps(value)[:40]
