"""Defines the flags of live documents."""

from typing import Optional

from . import corpus_flags

from absl import flags

from realm_tf import errors
from realm_tf.live import corpus_watch
from realm_tf.live import document_log
from realm_tf.live import writer as writer_lib
from realm_tf.records import block_table

_LOG = flags.DEFINE_string(
  'documents_log', None, 'Local file that keeps documents posted to the server.'
)
_WATCHED = flags.DEFINE_string(
  'watch_corpus',
  None,
  'Corpus directory that may grow: articles that --corpus_dir lacks are added.',
)


def open_log() -> Optional[document_log.DocumentLog]:
  """Opens --documents_log, if it is given; quick, as no model is loaded.

  Raises:
    UserError: It is no log of the corpus, or --watch_corpus has none.
  """
  if _LOG.value:
    manifest = block_table.read_manifest(corpus_flags.CORPUS_DIR.value)
    return document_log.DocumentLog(_LOG.value, manifest['corpus_fingerprint'])
  if _WATCHED.value:
    raise errors.UserError(
      '--watch_corpus must be with --documents_log, which keeps what it adds. '
      'Found none. Name a local file.'
    )
  return None


def watch(
  writer: Optional[writer_lib.Writer], poll_secs: float
) -> Optional[corpus_watch.CorpusWatch]:
  """Begins to follow --watch_corpus, if it is given; it must be closed."""
  if not _WATCHED.value or writer is None:
    return None
  watch = corpus_watch.CorpusWatch(
    writer, corpus_flags.CORPUS_DIR.value, _WATCHED.value
  )
  watch.watch(poll_secs)
  return watch
