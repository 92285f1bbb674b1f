"""The one way by which the corpus of a running server changes.

From a posted document to the search that finds it:

1. `serving.handlers.Api.documents` parses a request into a `Change`, gives it
   to `Writer.submit`, and waits for its future.
2. The change waits in the writer's queue, a `Batcher`. While questions are
   answered, the writer's thread waits 0.1 s for more changes: several cost
   hardly more than one. Edits of single blocks come the same way.
3. `_check` refuses what cannot be done, in the order of the changes. The future
   of a refused change raises its error; nothing of the change is used.
4. `EditedCorpus.prepare` cuts and embeds the documents of all changes while
   questions go on. No search finds the new blocks yet.
5. `DocumentLog.append` writes the changes and flushes them to the disk. If it
   cannot, the blocks are freed, and all changes get 503.
6. Between two batches of questions `EditedCorpus.apply` puts the embeddings
   into `LiveSearch`, which adds them to the hits of the index. The future is
   done: the next question finds the document, and a crash does not lose it.

A newer model takes over in the same thread (`take_over`), so no change can fall
between the old model and the new one.

Two queues: one for questions and one for changes, since embedding a large
document must not hold up questions. One lock, `answering`: a question must not
see a change that is half made. Nothing else is shared: only the writer's thread
changes the corpus.
"""

from collections.abc import Callable, Sequence
import concurrent.futures
import threading
from typing import Optional, Union

from absl import logging

from realm_tf import errors
from realm_tf.live import batching
from realm_tf.live import changes as changes_lib
from realm_tf.live import document_log
from realm_tf.live import edited_corpus

MAX_EDITS = 100  # Blocks with a changed text.
_CHANGES_AT_ONCE = 64
_GATHER_SECS = 0.1

AnyChange = Union[changes_lib.Change, changes_lib.Edit]
Outcome = Optional[errors.RequestError]


class Writer:
  """Makes edits and changes of documents, in the order that they came in.

  Args:
    edits: The corpus of the model in use; changes of the log are made at once.
    log: Keeps changes of documents; None if only texts may be edited.
    answering: Lock that the thread that answers holds while it does.
    is_busy: Returns whether a question was answered a moment ago.

  Attributes:
    edits: The corpus of the model in use.
    has_documents: Whether documents may be added and removed.
  """

  def __init__(
    self,
    edits: edited_corpus.EditedCorpus,
    log: Optional[document_log.DocumentLog],
    answering: threading.Lock,
    is_busy: Callable[[], bool],
  ):
    self.edits, self._log, self._answering = edits, log, answering
    self.has_documents = log is not None
    if log is not None:
      edits.become(changes_lib.in_force(log.changes))
      log.changes.clear()  # Only what is in force stays in memory.
      self._shorten(log)
    self._queue: batching.Batcher[AnyChange, Outcome] = batching.Batcher(
      self._write,
      _CHANGES_AT_ONCE,
      wait_secs=0.0,
      gather_secs=lambda: _GATHER_SECS if is_busy() else 0.0,
    )

  def submit(self, change: AnyChange) -> concurrent.futures.Future:
    """Returns a future that is done when questions find the change.

    A change of documents is on disk by then. The future raises RequestError if
    the change cannot be made.

    Raises:
      RequestError: 429, too many changes wait; 503, the server ends.
    """
    return self._queue.submit([change])[0]

  def knows(self, article_id: str) -> bool:
    """Whether an article or a live document of this id can be found."""
    return self.edits.knows(article_id)

  def holds(self, document: changes_lib.Document) -> bool:
    """Whether exactly this document is live."""
    return self.edits.documents.get(document.article_id) == document

  def take_over(
    self, edits: edited_corpus.EditedCorpus, swap: Callable[[], None]
  ) -> None:
    """Gives all changes to a newer model's corpus, and then calls `swap`."""
    edits.adopt(self.edits)  # Most of them, while changes still come in.

    def finish() -> None:
      edits.adopt(self.edits)
      swap()
      self.edits = edits

    self._queue.run(finish).result()

  def close(self) -> None:
    """Takes no more changes; returns when all are made."""
    self._queue.close()
    if self._log is not None:
      self._log.close()

  def _write(self, changes: Sequence[AnyChange]) -> list[Outcome]:
    outcomes = self._check(changes)
    accepted = [
      change
      for change, refused in zip(changes, outcomes, strict=True)
      if refused is None
    ]
    try:
      self._make(accepted)
    except OSError as error:
      logging.error('Could not write the documents log: %s.', error)
      failed = errors.RequestError(
        f'The documents log cannot be written: {error.strerror}.', status=503
      )
      return [refused or failed for refused in outcomes]
    return outcomes

  def _make(self, changes: Sequence[AnyChange]) -> None:
    """Makes all changes; OSError if the log fails, and then it makes none."""
    documents = [c for c in changes if isinstance(c, changes_lib.Change)]
    prepared = self.edits.prepare(documents)
    if documents and self._log is not None:
      try:
        self._log.append(documents)  # From here on, a crash loses none.
      except OSError:
        self.edits.forget(prepared)
        raise
    following = iter(prepared)
    with self._answering:
      for change in changes:
        if isinstance(change, changes_lib.Edit):
          self.edits.change(*change)
        else:
          self.edits.apply(next(following))
    if documents and self._log is not None:
      self._shorten(self._log)

  def _shorten(self, log: document_log.DocumentLog) -> None:
    if log.is_long:
      log.shorten(self.edits.in_force)

  def _check(self, changes: Sequence[AnyChange]) -> list[Outcome]:
    """Returns the error of each change, after the accepted ones before it."""
    known: dict[str, bool] = {}  # Documents of this batch.
    edited = set(self.edits.table.changed)
    return [
      self._check_edit(change, edited)
      if isinstance(change, changes_lib.Edit)
      else self._check_documents(change, known)
      for change in changes
    ]

  def _check_documents(
    self, change: changes_lib.Change, known: dict[str, bool]
  ) -> Outcome:
    for article_id in change.remove:
      if not known.get(article_id, self.edits.knows(article_id)):
        return errors.RequestError(
          f'There is no document {article_id[:80]!r} to remove.', status=404
        )
    known.update(dict.fromkeys(change.remove, False))
    known.update((each.article_id, True) for each in change.add)
    return None

  def _check_edit(self, edit: changes_lib.Edit, edited: set[int]) -> Outcome:
    if not self.edits.can_change(edit.block_id):
      return errors.RequestError(
        f'The corpus must have the block. Got {edit.block_id}.', status=404
      )
    if edit.text is None:
      edited.discard(edit.block_id)
    elif edit.block_id not in edited:
      if len(edited) >= MAX_EDITS:
        return errors.RequestError(
          f'{MAX_EDITS} blocks may be changed. Restore one.', status=409
        )
      edited.add(edit.block_id)
    return None
