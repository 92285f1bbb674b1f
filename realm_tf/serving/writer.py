"""The only way to change the corpus of a running server.

1. `handlers.Api.documents` gives a request's `Change` to `Writer.submit` and
   waits for its future. Edits of single blocks come the same way.
2. The change waits in a queue. While questions are answered, the writer's
   thread waits 0.1 s for more changes: several cost hardly more than one.
3. `_check` refuses impossible changes; their futures raise the errors.
4. `EditedCorpus.prepare` cuts and embeds the documents while questions go on.
5. `DocumentLog.write` flushes the changes, joined into one, to the disk. If it
   fails, the blocks are freed, and all changes get 503.
6. Between two batches of questions `EditedCorpus.apply` makes the documents
   searchable. The future is done: a crash does not lose the change.

Questions have another queue, because embedding must not delay them. The lock
`answering` hides half-made changes from questions. Only the writer's thread
changes the corpus, also for a newer model (`take_over`), so no change is lost
between two models.
"""

from collections.abc import Callable, Sequence
import concurrent.futures
import threading

from absl import logging

from realm_tf import errors
from realm_tf.serving import changes as changes_lib
from realm_tf.serving import edited_corpus
from realm_tf.serving import threads

MAX_EDITS = 100  # Blocks with a changed text.
_CHANGES_AT_ONCE = 64
_GATHER_SECS = 0.1

AnyChange = changes_lib.Change | changes_lib.Edit
Outcome = errors.RequestError | None


class Writer:
  """Makes edits and changes of documents, in their order of arrival.

  Args:
    log: Log of documents; its changes are made at once. None: only texts may be
      edited.
    answering: Lock that is held while questions are answered.
    is_busy: Returns whether a question was answered a moment ago.

  Attributes:
    edits: The corpus of the model in use.
    has_documents: Whether documents may be added and removed.
  """

  def __init__(
    self,
    edits: edited_corpus.EditedCorpus,
    log: changes_lib.DocumentLog | None,
    answering: threading.Lock,
    is_busy: Callable[[], bool],
  ):
    self.edits, self._log, self._answering = edits, log, answering
    self.has_documents = log is not None
    if log is not None:
      edits.become(log.in_force())
    self._queue: threads.Batcher[AnyChange, Outcome] = threads.Batcher(
      self._write,
      _CHANGES_AT_ONCE,
      wait_secs=0.0,
      gather_secs=lambda: _GATHER_SECS if is_busy() else 0.0,
    )

  def submit(self, change: AnyChange) -> concurrent.futures.Future:
    """Returns a future that is done when questions find the change.

    By then a change of documents is on disk. The future of a refused change
    raises RequestError; so does this call if the queue is full (429).
    """
    return self._queue.submit([change])[0]

  def take_over(
    self, edits: edited_corpus.EditedCorpus, swap: Callable[[], None]
  ) -> None:
    """Gives all changes to a newer model's corpus, then calls `swap`."""
    edits.adopt(self.edits)  # Most of the work, while changes still arrive.

    def finish() -> None:
      edits.adopt(self.edits)
      swap()
      self.edits = edits

    self._queue.submit([finish], ignores_size=True)[0].result()

  def close(self) -> None:
    """Refuses new changes and returns after all queued ones are made."""
    self._queue.close()
    if self._log is not None:
      self._log.close()

  def _write(self, changes: Sequence[AnyChange]) -> list[Outcome]:
    """Makes all accepted changes; if the log fails, makes none."""
    known: dict[str, bool] = {}  # Documents of these changes.
    edited = set(self.edits.table.changed)
    outcomes = [self._refusal(each, known, edited) for each in changes]
    accepted = [
      change
      for change, refused in zip(changes, outcomes, strict=True)
      if refused is None
    ]
    change: dict[str, changes_lib.Document | None] = {}
    for each in accepted:
      if not isinstance(each, changes_lib.Edit):
        change |= each
    prepared = self.edits.prepare(change)
    if self._log is not None:
      try:
        self._log.write(change, self.edits.is_own)
      except OSError as error:
        self.edits.forget(prepared)
        logging.log_every_n_seconds(
          *(logging.ERROR, 'Could not write the documents log: %s', 60, error)
        )
        failed = errors.RequestError(
          f'The documents log cannot be written: {error}.', status=503
        )
        return [refused or failed for refused in outcomes]
    with self._answering:
      # Edits first: a document may take the place of an edited article.
      for edit in accepted:
        if isinstance(edit, changes_lib.Edit):
          self.edits.change(*edit)
      self.edits.apply(prepared)
    return outcomes

  def _refusal(
    self, change: AnyChange, known: dict[str, bool], edited: set[int]
  ) -> Outcome:
    """Returns the error of a change, given the accepted ones before it.

    Args:
      known: Id of a changed document -> whether it will be there.
      edited: Blocks with changed texts.
    """
    if not isinstance(change, changes_lib.Edit):
      for article_id, document in change.items():
        is_there = known.get(article_id, self.edits.knows(article_id))
        if document is None and not is_there:
          return errors.RequestError(
            f'The corpus must have document {article_id[:80]!r} to remove it.',
            status=404,
          )
      known |= {i: each is not None for i, each in change.items()}
      return None
    if not self.edits.can_change(change.block_id):
      return errors.RequestError(
        f'The corpus must have the block. Found {change.block_id}.', status=404
      )
    if change.text is None:
      edited.discard(change.block_id)
    elif len(edited | {change.block_id}) > MAX_EDITS:
      return errors.RequestError(
        f'At most {MAX_EDITS} blocks may be changed. Restore one first.',
        status=409,
      )
    else:
      edited.add(change.block_id)
    return None
