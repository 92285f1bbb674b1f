"""Defines the flags of live documents."""

from typing import Optional

from absl import flags

from realm_tf import errors
from realm_tf.serving import corpus_watch
from realm_tf.serving import service as service_lib

LOG = flags.DEFINE_string(
  'documents_log', None, 'Local file that keeps documents posted to the server.'
)
_WATCHED = flags.DEFINE_string(
  'watch_corpus',
  None,
  'Corpus directory that may grow: articles that --corpus_dir lacks are added.',
)


def check() -> None:
  """Raises UserError if the flags do not go together."""
  if _WATCHED.value and not LOG.value:
    raise errors.UserError(
      '--watch_corpus must be with --documents_log, which keeps what it adds. '
      'Found none. Name a local file.'
    )


def watch(
  service: service_lib.Service, corpus_dir: str, poll_secs: float
) -> Optional[corpus_watch.CorpusWatch]:
  """Begins to follow --watch_corpus, if it is given; it must be closed."""
  if not _WATCHED.value:
    return None
  watch = corpus_watch.CorpusWatch(service, corpus_dir, _WATCHED.value)
  watch.watch(poll_secs)
  return watch
