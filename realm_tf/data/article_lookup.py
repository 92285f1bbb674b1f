"""Checks that article ids in questions or judgements are in the corpus."""

from collections.abc import Iterable, Iterator

from absl import logging
import numpy as np

from realm_tf import errors
from realm_tf.data import block_table

_CHUNK = 10_000  # Article ids read at once.


def check(
  ids: Iterable[str],
  table: block_table.BlockTable,
  what: str,
  needs_one: bool = True,
) -> None:
  """Warns if the corpus lacks some ids; UserError if it lacks all of them.

  Args:
    ids: Ids of articles; '' is ignored.
    what: Owner of the ids, for the message.
    needs_one: False warns even if the corpus lacks all ids.
  """
  asked = set(ids) - {''}
  lacking = asked.difference(*_known(asked, table)) if asked else set()
  if not lacking:
    return
  found = (
    f'{len(lacking)} of {len(asked)} that are not in {table.corpus_dir}, such '
    f'as {min(lacking)!r:.40}'
  )
  if needs_one and lacking == asked:
    raise errors.UserError(
      f'{what} must name articles of the corpus. Found {found}; it has e.g. '
      f'{next(iter(table.article_ids([0])), "")!r:.40}. Give the corpus that '
      'they were made for.'
    )
  logging.warning('%s should name articles. Found %s.', what, found)


def _known(ids: set[str], table: block_table.BlockTable) -> Iterator[set[str]]:
  """Yields the ids that the corpus has, in several sets."""
  first_blocks = np.flatnonzero(np.diff(table.article_rows, prepend=-1))
  for start in range(0, len(first_blocks), _CHUNK):
    chunk = first_blocks[start : start + _CHUNK].tolist()
    yield ids.intersection(table.article_ids(chunk))
