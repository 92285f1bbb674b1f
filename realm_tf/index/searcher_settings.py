"""What a manifest says of an index's searcher: `searchers.Built.settings`."""

import os
from typing import Any

from realm_tf import errors
from realm_tf.index import searcher
from realm_tf.rundir import json_shapes

EXACT_KINDS = ('brute_force', 'device')
DEFAULT_TOP = 10
_EFFORT = {
  'leaves_to_search': json_shapes.count(1),
  'num_to_rescore': json_shapes.COUNT,
}
SHAPE = json_shapes.object_of(
  {
    'kind': json_shapes.one_of(*EXACT_KINDS, 'scann', 'faiss', 'milvus'),
    'num_leaves': json_shapes.optional(json_shapes.count(1)),
    'vectors': json_shapes.optional(json_shapes.one_of('disk')),
    'dtype': json_shapes.optional(json_shapes.one_of('float32', 'bfloat16')),
    'efforts': json_shapes.optional(
      json_shapes.list_of(
        json_shapes.object_of({'k': json_shapes.count(1), **_EFFORT})
      )
    ),
  }
)
_EFFORT_SHAPE = json_shapes.object_of(_EFFORT)


def efforts(
  settings: dict[str, Any], directory: str
) -> dict[int, searcher.Effort]:
  """Returns k -> effort; one for every k where it was not tuned for each.

  Args:
    settings: Of an approximate searcher.
    directory: Its files, for the error.

  Raises:
    UserError: An approximate searcher needs more settings.
  """
  rows = settings.get('efforts') or [settings]
  if 'num_leaves' not in settings or not all(map(_EFFORT_SHAPE.holds, rows)):
    raise errors.UserError(
      f"'searcher' in the manifest of {os.path.dirname(directory)} must have "
      "'num_leaves', and 'efforts' or 'leaves_to_search' and "
      f"'num_to_rescore'. Found {sorted(settings)}. Build the index again with "
      'bin.build_index.'
    )
  return {
    row.get('k', DEFAULT_TOP): searcher.Effort(
      row['leaves_to_search'], row['num_to_rescore']
    )
    for row in rows
  }
