"""TensorFlow Serving's REST API: requests -> questions, answers -> replies.

  {"instances": ["who ...?", ...]}         -> {"predictions": [{...}, ...]}
  {"inputs": {"questions": ["who ...?"]}}  -> {"outputs": {...}}

Names and types agree with the SavedModel of bin.export, so clients can change
servers (https://www.tensorflow.org/tfx/serving/api_rest).
"""

import base64
import binascii
from collections.abc import Sequence
import json
from typing import Any, NamedTuple

from google.protobuf import json_format
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import meta_graph_pb2

from realm_tf import errors
from realm_tf.answering import answer as answer_lib
from realm_tf.objectives import exclusion
from realm_tf.serving import request_body

SIGNATURE = 'serving_default'
INPUT = 'questions'
MODEL_NAME = 'realm'
# Outputs per answer, [B], and per block of evidence, [B, top_k].
ANSWER_OUTPUTS = {
  'answers': 'DT_STRING',
  'scores': 'DT_FLOAT',
  'probabilities': 'DT_FLOAT',
  'null_probabilities': 'DT_FLOAT',
  'is_refused': 'DT_BOOL',
}
EVIDENCE_OUTPUTS = {
  'block_ids': 'DT_INT32',
  'titles': 'DT_STRING',
  'texts': 'DT_STRING',
  'starts': 'DT_INT32',
  'ends': 'DT_INT32',
  'evidence_answers': 'DT_STRING',
  'evidence_scores': 'DT_FLOAT',
  'retrieval_probabilities': 'DT_FLOAT',
}
OUTPUTS = {**ANSWER_OUTPUTS, **EVIDENCE_OUTPUTS}
# Missing evidence, in the order of EVIDENCE_OUTPUTS.
_NO_EVIDENCE = (-1, '', '', 0, 0, '', exclusion.NO_SCORE, 0.0)


class Predict(NamedTuple):
  """A request; `by_rows` if it has "instances", not "inputs"."""

  questions: list[str]
  by_rows: bool


def parse_predict(body: bytes, limits: request_body.Limits) -> Predict:
  """Returns the questions of a :predict request, or RequestError."""
  request = request_body.parse_json(body)
  unknown = set(request) - {'signature_name', 'instances', 'inputs'}
  if unknown:
    raise errors.RequestError(
      'The keys must be "signature_name", "instances" or "inputs". Found '
      f'{_shown(min(unknown))}.'
    )
  signature = request.get('signature_name', SIGNATURE)
  if signature not in (SIGNATURE, ''):
    raise errors.RequestError(
      f'The signature must be "{SIGNATURE}". Found {_shown(signature)}.'
    )
  if ('instances' in request) == ('inputs' in request):
    raise errors.RequestError(
      'A request must have either "instances" or "inputs".'
    )
  by_rows = 'instances' in request
  if by_rows:
    values = _list(request['instances'], '"instances"')
    values = [_named(value) for value in values]
  else:
    values = _list(_named(request['inputs']), f'"{INPUT}"')
  questions = [
    _decoded(value['b64'])
    if isinstance(value, dict) and set(value) == {'b64'}
    else value
    for value in values
  ]
  return Predict(check_questions(questions, limits), by_rows)


def check_questions(
  questions: Sequence[Any], limits: request_body.Limits
) -> list[str]:
  """Returns the questions if all are within the limits, or RequestError."""
  if not questions:
    raise errors.RequestError('A request must have questions. Found none.')
  if len(questions) > limits.questions:
    raise errors.RequestError(
      f'A request must have at most {limits.questions} questions. Found '
      f'{len(questions)}.',
      status=413,
    )
  return [
    request_body.check_text(value, 'A question', limits.characters)
    for value in questions
  ]


def format_predict(
  answers: Sequence[answer_lib.Answer], by_rows: bool, top_k: int
) -> dict[str, Any]:
  """Returns the reply, with `top_k` blocks of evidence per answer."""
  rows = [_row(answer, top_k) for answer in answers]
  if by_rows:
    return {'predictions': rows}
  return {'outputs': {name: [row[name] for row in rows] for name in OUTPUTS}}


def status(version: int) -> dict[str, Any]:
  """Returns the body of GET /v1/models/realm."""
  return {
    'model_version_status': [
      {
        'version': str(version),
        'state': 'AVAILABLE',
        'status': {'error_code': 'OK', 'error_message': ''},
      }
    ]
  }


def metadata(version: int, top_k: int) -> dict[str, Any]:
  """Returns the body of GET /v1/models/realm/metadata."""
  return {
    'model_spec': {
      'name': MODEL_NAME,
      'signature_name': '',
      'version': str(version),
    },
    'metadata': {
      'signature_def': {
        'signature_def': {
          SIGNATURE: json_format.MessageToDict(
            signature(top_k),
            always_print_fields_with_no_presence=True,
            preserving_proto_field_name=True,
          )
        }
      }
    },
  }


def signature(top_k: int) -> meta_graph_pb2.SignatureDef:
  """Returns the signature of the model's SavedModel."""
  found = meta_graph_pb2.SignatureDef(method_name='tensorflow/serving/predict')
  _fill(found.inputs[INPUT], f'{SIGNATURE}_{INPUT}:0', 'DT_STRING', [-1])
  # A SavedModel numbers its outputs in the order of their names.
  for i, (name, kind) in enumerate(sorted(OUTPUTS.items())):
    shape = [-1, top_k] if name in EVIDENCE_OUTPUTS else [-1]
    _fill(found.outputs[name], f'StatefulPartitionedCall:{i}', kind, shape)
  return found


def _fill(
  info: meta_graph_pb2.TensorInfo, name: str, kind: str, shape: Sequence[int]
) -> None:
  info.name = name
  info.dtype = types_pb2.DataType.Value(kind)
  for size in shape:
    info.tensor_shape.dim.add(size=size)


def _row(answer: answer_lib.Answer, top_k: int) -> dict[str, Any]:
  blocks = [
    (
      *(item.block_id, item.title, item.text, item.start, item.end),
      *(item.answer, item.score, item.retrieval_probability),
    )
    for item in answer.evidence[:top_k]
  ]
  blocks += [_NO_EVIDENCE] * (top_k - len(blocks))
  return {
    'answers': answer.prediction,
    'scores': exclusion.NO_SCORE if answer.score is None else answer.score,
    'probabilities': answer.probability,
    'null_probabilities': answer.null_probability,
    'is_refused': answer.is_refused,
    **{
      name: list(values)
      for name, values in zip(EVIDENCE_OUTPUTS, zip(*blocks), strict=True)
    },
  }


def _named(value: Any) -> Any:
  """Returns the value of {"questions": value}; other values unchanged."""
  if not isinstance(value, dict) or set(value) == {'b64'}:
    return value
  if set(value) != {INPUT}:
    found = ', '.join(_shown(name) for name in sorted(value)[:3]) or 'none'
    raise errors.RequestError(
      f'The input must be "{INPUT}" alone. Found {found}.'
    )
  return value[INPUT]


def _list(value: Any, what: str) -> list[Any]:
  if not isinstance(value, list):
    raise errors.RequestError(
      f'{what} must be a list. Found {request_body.kind_of(value)}.'
    )
  if not value:
    raise errors.RequestError(f'{what} must not be empty.')
  return value


def _decoded(value: Any) -> str:
  """Returns the text of {"b64": value}, TensorFlow Serving's form of bytes."""
  try:
    return base64.b64decode(value, validate=True).decode('utf-8')
  except (TypeError, ValueError, binascii.Error) as error:
    raise errors.RequestError(
      '"b64" must be the base64 of a question in UTF-8.'
    ) from error


def _shown(value: Any) -> str:
  """Returns a short, printable form of a client's value."""
  return json.dumps(value)[:40]
