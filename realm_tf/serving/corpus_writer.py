"""Changes the corpus of a running server: one thread, several changes at once.

  edits, documents -> [check, cut, embed, log] -> [between two batches: apply]

Questions go on meanwhile; only the last step waits until none is answered, so
that none is while a change is half done.
"""

from collections.abc import Callable, Sequence
import concurrent.futures
import functools
import threading
from typing import Any, NamedTuple, Optional, Union

from absl import logging

from realm_tf.retrieval import hot_swap
from realm_tf.serving import batching
from realm_tf.serving import corpus_edits
from realm_tf.serving import document_log
from realm_tf.serving import request_body

_CHANGES_AT_ONCE = 64
# While questions are answered, changes wait so long for others: several cost
# hardly more than one, and the questions less.
_GATHER_SECS = 0.1


class Edit(NamedTuple):
  """Another text of a block; None restores its own."""

  block_id: int
  text: Optional[str]


class CorpusWriter:
  """Makes edits and changes of documents, in the order that they came in.

  Args:
    live: The model in use, with edits.
    log: Keeps changes of documents; None if there are to be none.
    answering: Held by the thread that answers while it does.
    idle_secs: Returns the seconds since it did.
  """

  def __init__(
    self,
    live: hot_swap.HotSwap,
    log: Optional[document_log.DocumentLog],
    answering: threading.Lock,
    idle_secs: Callable[[], float],
  ):
    self._live, self._log, self._answering = live, log, answering
    self._batcher = batching.Batcher(
      self._write,
      _CHANGES_AT_ONCE,
      wait_secs=0.0,
      gather_secs=lambda: _GATHER_SECS if idle_secs() < _GATHER_SECS else 0.0,
    )

  def submit(
    self, change: Union[Edit, document_log.Change]
  ) -> concurrent.futures.Future:
    """Returns a future that is done when questions find the change.

    A change of documents is on disk by then. The future is the RequestError of
    what cannot be changed.

    Raises:
      batching.FullError: Try again later.
      batching.ClosedError: The server ends.
    """
    return self._batcher.submit([change])[0]

  def close(self) -> None:
    """Takes no more changes; returns when all are made."""
    self._batcher.close()

  def _write(
    self, changes: Sequence[Any]
  ) -> list[Optional[request_body.RequestError]]:
    # Neither the edits nor their copy for the next model may change meanwhile.
    with self._live.lock:
      checker = _Checker(self._live.current.edits)
      results = [checker.check(change) for change in changes]
      accepted = [
        change
        for change, error in zip(changes, results, strict=True)
        if error is None
      ]
      if accepted:
        try:
          self._make(self._live.current.edits, accepted)
        except OSError as error:
          logging.error('Could not write the documents log: %s.', error)
          failed = request_body.RequestError(
            503, f'The documents log cannot be written: {error.strerror}.'
          )
          return [result or failed for result in results]
    return results

  def _make(self, edits, changes) -> None:
    """Makes all changes; OSError if they cannot be logged, and none is made."""
    documents = [each for each in changes if not isinstance(each, Edit)]
    prepared = edits.prepare(documents)
    if documents:
      try:
        self._log.append(documents)  # From here on, a crash loses none.
      except OSError:
        edits.forget(prepared)
        raise
    following = iter(prepared)
    works = [
      functools.partial(edits.change, *each)
      if isinstance(each, Edit)
      else functools.partial(edits.apply, next(following))
      for each in changes
    ]
    with self._answering:
      for work in works:
        work()
    if documents and self._log.is_long:
      self._log.shorten(edits.in_force)


class _Checker:
  """Finds what cannot be changed, after all that was accepted before it."""

  def __init__(self, edits: corpus_edits.EditedCorpus):
    self._edits = edits
    self._known: dict[str, bool] = {}  # Documents of this batch.
    self._texts = set(edits.table.changed)  # Blocks with another text.

  def check(
    self, change: Union[Edit, document_log.Change]
  ) -> Optional[request_body.RequestError]:
    """Returns the error of a change; None if it is accepted."""
    if isinstance(change, Edit):
      return self._check_edit(change)
    for article_id in change.remove:
      if not self._known.get(article_id, self._edits.knows(article_id)):
        return request_body.RequestError(
          404, f'There is no document {article_id[:80]!r} to remove.'
        )
    self._known.update(dict.fromkeys(change.remove, False))
    self._known.update((each.article_id, True) for each in change.add)
    return None

  def _check_edit(self, edit):
    if not self._edits.can_change(edit.block_id):
      return request_body.RequestError(
        404, f'The corpus must have the block. Got {edit.block_id}.'
      )
    if edit.text is None:
      self._texts.discard(edit.block_id)
    elif edit.block_id not in self._texts:
      if len(self._texts) >= corpus_edits.MAX_EDITS:
        return request_body.RequestError(
          409, f'{corpus_edits.MAX_EDITS} blocks may be changed. Restore one.'
        )
      self._texts.add(edit.block_id)
    return None
