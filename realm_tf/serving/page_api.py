"""What the page asks for and gets: plain dicts, beside TF Serving's API.

POST /api/ask       {"question"}         the answer with all of its evidence
POST /api/complete  {"sentence"}         a masked sentence, both ways
POST /api/edit      {"block_id", "text"} another text in memory; null restores
GET  /api/about                          which of these there are
"""

from collections.abc import Mapping
from typing import Any

from realm_tf.answering import answer as answer_lib
from realm_tf.serving import rest_api
from realm_tf.serving import service as service_lib


def about(service: service_lib.Service) -> dict[str, Any]:
  """Returns what there is to see."""
  return {
    'num_blocks': service.table.num_blocks,
    'num_read': service.top_k,
    'params_step': service.version,
    'index_step': service.index_step,
    'can_complete': service.can_complete,
    'can_edit': service.can_edit,
  }


def question(request: Mapping[str, Any], limits: rest_api.Limits) -> str:
  """Returns the question of a request; RequestError if it is wrong."""
  _check_keys(request, 'question')
  return rest_api.check_text(
    request['question'], 'A question', limits.characters
  )


def sentence(request: Mapping[str, Any], limits: rest_api.Limits) -> str:
  """Returns the masked sentence of a request; RequestError if it is wrong."""
  _check_keys(request, 'sentence')
  return rest_api.check_text(
    request['sentence'], 'A sentence', limits.characters
  )


def edit(
  request: Mapping[str, Any], limits: rest_api.Limits
) -> tuple[int, str | None]:
  """Returns block id and text of a request; RequestError if it is wrong."""
  _check_keys(request, 'block_id', 'text')
  block_id, text = request['block_id'], request['text']
  if type(block_id) is not int:  # True is an int, too.
    raise rest_api.RequestError(400, 'A block id must be a whole number.')
  if text is not None:
    rest_api.check_text(text, 'A text', limits.characters)
  return block_id, text


def shown(
  answer: answer_lib.Answer, service: service_lib.Service
) -> dict[str, Any]:
  """Returns an answer as the page shows it.

  p(z|x) is that of an answer which may be in no block that was read: the share
  of the null block, and of all others, is the answer's `null_probability`.
  """
  found = 1.0 - answer.null_probability
  changed = service.table.changed if service.can_edit else {}
  top = answer.evidence[: service.top_k]
  return {
    'question': answer.question,
    'answer': answer.prediction,
    'probability': answer.probability,
    'null_probability': answer.null_probability,
    'evidence': [
      {
        **item._asdict(),
        'p_z': item.retrieval_probability * found,
        'changed': item.block_id in changed,
      }
      for item in top
    ],
  }


def _check_keys(request: Mapping[str, Any], *names: str):
  if set(request) != set(names):
    wanted = ' and '.join(f'"{name}"' for name in names)
    raise rest_api.RequestError(400, f'The body must have {wanted} alone.')
