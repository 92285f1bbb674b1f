"""Checks that article ids in questions or judgements are in the corpus."""

from collections.abc import Iterable

from absl import logging

from realm_tf import errors
from realm_tf.data import block_table


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
  lacking = asked.difference(table.all_article_ids() if asked else ())
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
