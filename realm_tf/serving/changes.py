"""Changes to a served corpus, and the database that keeps them on disk.

The database has the documents and removals in force, so it never has to be
shortened. SQLite flushes its write-ahead log before `write` returns: after a
kill or on a full disk, a change is there as a whole or not at all.
"""

from collections.abc import Callable, Mapping
import os
import sqlite3
from typing import NamedTuple

from realm_tf import errors
from realm_tf import input_files

# Documents and removals in the order of their last change; a removed one has
# no text. `corpus` has one row.
_TABLES = """
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  BEGIN IMMEDIATE;
  CREATE TABLE IF NOT EXISTS corpus (fingerprint TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS documents (
    article_id TEXT NOT NULL UNIQUE, title TEXT, text TEXT);
  COMMIT;
"""
# Part of SQLite's message -> the condition on the file, and advice.
_REFUSALS = {
  'locked': (
    'a file that no other server uses',
    'Stop the other server, or name another file.',
  ),
  'not a database': (
    'a database of this server',
    'Name a new file. An older log is converted by sending each line of '
    "`tail -n +3 FILE | jq -c '{add, remove}'` to POST /api/documents.",
  ),
  '': ('an undamaged local file that can be written', 'Name another file.'),
}


class Document(NamedTuple):
  """An article; its id is unique in the corpus."""

  article_id: str
  title: str
  text: str


# The changes of one request: all are made, or none. Id -> the document that
# replaces the document or article of this id, or None to remove it.
Change = Mapping[str, Document | None]


class Edit(NamedTuple):
  """A new text for a block; None restores the block's own text."""

  block_id: int
  text: str | None


class DocumentLog:
  """The changes to one corpus in a local file, which one server may use.

  Raises:
    UserError: The file is not a log of this corpus, or another server uses it.
  """

  def __init__(self, path: str, corpus_fingerprint: str):
    input_files.check(path)
    try:
      self._database = sqlite3.connect(
        os.path.realpath(path),
        timeout=0,
        isolation_level=None,
        check_same_thread=False,
      )
      try:
        self._open(path, corpus_fingerprint)
      except BaseException:
        self._database.close()
        raise
    except sqlite3.Error as error:
      must, advice = next(
        refusal for part, refusal in _REFUSALS.items() if part in str(error)
      )
      raise errors.UserError(
        f'--documents_log must be {must}. Found: {error} ({path}). '
        + advice.replace('FILE', path)
      ) from error

  def _open(self, path: str, corpus_fingerprint: str) -> None:
    execute = self._database.execute
    self._database.executescript(_TABLES)
    ((damage,), *_) = execute('PRAGMA quick_check')
    if damage != 'ok':
      raise sqlite3.DatabaseError(damage)
    found = execute('SELECT fingerprint FROM corpus').fetchone()
    if found is None:
      execute('INSERT INTO corpus VALUES (?)', [corpus_fingerprint])
    elif found[0] != corpus_fingerprint:
      raise errors.UserError(
        f'{path} must contain changes to corpus {corpus_fingerprint[:12]}. '
        f'Found corpus {found[0][:12]}. Name another file, or remove it.'
      )

  def in_force(self) -> Change:
    """Returns one change with the effect of all changes."""
    rows = self._database.execute('SELECT * FROM documents ORDER BY rowid')
    return {
      article_id: None if text is None else Document(article_id, title, text)
      for article_id, title, text in rows
    }

  def write(
    self, change: Change, is_own: Callable[[str], bool] = lambda _: True
  ) -> None:
    """Writes and flushes a whole change, or nothing and raises OSError.

    A removal stays in the log only of articles of the corpus itself, `is_own`.
    """
    rows = [
      each or (article_id, None, None)
      for article_id, each in change.items()
      if each or is_own(article_id)
    ]
    try:
      # A commit that fails leaves the transaction open; `with` ends it.
      with self._database as database:
        database.execute('BEGIN IMMEDIATE')
        ids = [(article_id,) for article_id in change]
        database.executemany('DELETE FROM documents WHERE article_id = ?', ids)
        database.executemany('INSERT INTO documents VALUES (?, ?, ?)', rows)
    except sqlite3.Error as error:
      raise OSError(str(error)) from error

  def close(self) -> None:
    self._database.close()
