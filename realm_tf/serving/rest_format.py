"""TensorFlow Serving's REST API: what goes out.

  answers            -> {"predictions": [{...}, ...]} or {"outputs": {...}}
  a version's number -> its status, its metadata

Names and types are those of the SavedModel that bin.export writes.
"""

from collections.abc import Sequence
from typing import Any

from realm_tf.answering import answer as answer_lib
from realm_tf.serving import rest_api

MODEL_NAME = 'realm'
# Of an answer, by rows; of each evidence, [B, top_k]. Name -> type.
ANSWER_OUTPUTS = {
  'answers': 'DT_STRING',
  'scores': 'DT_FLOAT',
  'probabilities': 'DT_FLOAT',
  'null_probabilities': 'DT_FLOAT',
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
_NO_SCORE = -1e9  # JSON has no -inf.
# In the order of EVIDENCE_OUTPUTS, where there is less evidence than top_k.
_NO_EVIDENCE = (-1, '', '', 0, 0, '', _NO_SCORE, 0.0)


def format_predict(
  answers: Sequence[answer_lib.Answer], by_rows: bool, top_k: int
) -> dict[str, Any]:
  """Returns the body of an answered request.

  Args:
    answers: One a question.
    by_rows: See `Predict`.
    top_k: Evidence of an answer; what it lacks is filled with block -1.
  """
  rows = [_row(answer, top_k) for answer in answers]
  if by_rows:
    return {'predictions': rows}
  names = (*ANSWER_OUTPUTS, *EVIDENCE_OUTPUTS)
  return {'outputs': {name: [row[name] for row in rows] for name in names}}


def status(version: int) -> dict[str, Any]:
  """Returns what GET /v1/models/realm says."""
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
  """Returns what GET /v1/models/realm/metadata says."""
  outputs = {name: (kind, [-1]) for name, kind in ANSWER_OUTPUTS.items()}
  for name, kind in EVIDENCE_OUTPUTS.items():
    outputs[name] = kind, [-1, top_k]
  signature = {
    'inputs': {
      rest_api.INPUT: _tensor(
        f'{rest_api.SIGNATURE}_{rest_api.INPUT}:0', 'DT_STRING', [-1]
      )
    },
    'outputs': {
      # A SavedModel numbers its outputs in the order of their names.
      name: _tensor(f'StatefulPartitionedCall:{i}', *outputs[name])
      for i, name in enumerate(sorted(outputs))
    },
    'method_name': 'tensorflow/serving/predict',
    'defaults': {},
  }
  return {
    'model_spec': {
      'name': MODEL_NAME,
      'signature_name': '',
      'version': str(version),
    },
    'metadata': {
      'signature_def': {'signature_def': {rest_api.SIGNATURE: signature}}
    },
  }


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
    'scores': _NO_SCORE if answer.score is None else answer.score,
    'probabilities': answer.probability,
    'null_probabilities': answer.null_probability,
    **{
      name: list(values)
      for name, values in zip(EVIDENCE_OUTPUTS, zip(*blocks), strict=True)
    },
  }


def _tensor(name, kind, shape):
  return {
    'dtype': kind,
    'tensor_shape': {
      'dim': [{'size': str(size), 'name': ''} for size in shape],
      'unknown_rank': False,
    },
    'name': name,
  }
