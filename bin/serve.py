r"""Serves answers over HTTP, and a web page.

  python -m bin.serve --model_dir=runs/qa --corpus_dir=runs/corpus
  curl localhost:8501/v1/models/realm:predict \
      -d '{"instances": ["What is the capital of Peru?"]}'

Newer parameters or indexes in --model_dir are loaded while it runs. With --mcp
it speaks the Model Context Protocol, on stdin and stdout, with an assistant.
"""

from importlib import util

from . import answer_flags
from . import corpus_flags
from . import launcher

from absl import flags

from realm_tf import process
from realm_tf.data import block_table
from realm_tf.qa import masked_sentences
from realm_tf.run import recipe_result
from realm_tf.serving import access
from realm_tf.serving import changes
from realm_tf.serving import connections
from realm_tf.serving import corpus_watch
from realm_tf.serving import handlers
from realm_tf.serving import http_server
from realm_tf.serving import mcp_server
from realm_tf.serving import served_model
from realm_tf.serving import service as service_lib
from realm_tf.serving import threads

_HOST = flags.DEFINE_string('host', '127.0.0.1', 'Address to listen on.')
_PORT = flags.DEFINE_integer(
  'port', 8501, 'Port to listen on; 0 for any.', 0, 65535
)
_TOP_K = flags.DEFINE_integer(
  'top_k', None, 'Most blocks shown per answer; by default all read.', 1
)
_BATCH_SIZE = flags.DEFINE_integer(
  'batch_size', None, "Most questions per batch; by default the config's.", 1
)
_QUEUE_SIZE = flags.DEFINE_integer(
  'queue_size', 256, 'Most waiting questions; more get status 429.', 1
)
_POLL_SECS = flags.DEFINE_float(
  'poll_secs', 10.0, 'Seconds between checks for newer versions.', 0.1
)
_PRETRAINED_DIR = launcher.existing_path(
  'pretrained_dir', 'Run directory of bin.pretrain, for masked sentences.'
)
_ALLOW_EDITS = flags.DEFINE_bool(
  'allow_edits', False, 'Let the page change blocks, in memory only.'
)
_DOCUMENTS_LOG = flags.DEFINE_string(
  'documents_log', None, 'Local file to store posted documents in.'
)
_WATCH_CORPUS = launcher.existing_path(
  'watch_corpus',
  'Corpus directory; articles that --corpus_dir lacks are added.',
)
_TOKEN_FILE = launcher.existing_path(
  'token_file', 'File with the bearer token that requests must send.'
)
_TIMEOUT_SECS = flags.DEFINE_float(
  'timeout_secs', 30.0, 'Seconds until a request gets status 504.', 0.001
)
_EXAMPLES = launcher.existing_path(
  'examples',
  "JSON file of questions and masked sentences, the page's buttons; by default "
  'examples.json of RUN_DIR.',
)
_MCP = flags.DEFINE_bool(
  'mcp', False, 'Serve an assistant over stdin and stdout, not over HTTP.'
)
_BEST_EFFORT = flags.DEFINE_bool('best_effort', False, 'Call answers hints.')
answer_flags.define_search()
launcher.check_flags(
  lambda watch_corpus, documents_log: documents_log or not watch_corpus,
  '--watch_corpus needs --documents_log, which stores the added articles.',
)

launcher.check_flags(
  lambda mcp: not mcp or util.find_spec('mcp'),
  '--mcp must have the package mcp. Found no module named mcp. Run: pip '
  "install 'realm_tf[mcp]'.",
)


def main(_):
  wire = mcp_server.divert_stdout() if _MCP.value else None
  corpus_dir = corpus_flags.CORPUS_DIR.value
  token, examples = _TOKEN_FILE.value, _EXAMPLES.value
  settings = handlers.Settings(
    _TIMEOUT_SECS.value,
    token=token and access.read_token(token),
    best_effort=_BEST_EFFORT.value,
    examples=examples and recipe_result.read_examples(examples),
  )
  log = watch = None
  if _DOCUMENTS_LOG.value:
    fingerprint = block_table.fingerprint(corpus_dir)
    log = changes.DocumentLog(_DOCUMENTS_LOG.value, fingerprint)
  listener = None
  if not _MCP.value:
    listener = connections.listen(_HOST.value, _PORT.value)
  service = _open_service(corpus_dir, log)
  watchers = [threads.Watcher(service.check, _POLL_SECS.value)]
  if _WATCH_CORPUS.value:
    watch = corpus_watch.CorpusWatch(
      service.writer, corpus_dir, _WATCH_CORPUS.value
    )
    watchers.append(threads.Watcher(watch.check, _POLL_SECS.value))
  if _MCP.value:
    print('Serving an assistant until it closes stdin.', flush=True)
    mcp_server.run(service, wire)
  else:
    url = connections.url(*listener.getsockname()[:2])
    print(f'Serving at {url} until Ctrl-C.', flush=True)
    app = http_server.make_app(service, settings)
    connections.Server(app, listener).run()
  if watch:
    watch.close()
  for each in watchers:
    each.close()
  service.close()
  print('Served all requests.', flush=True)
  process.leave()


def _open_service(corpus_dir, log):
  """Opens the models of the flags."""
  completer = None
  if _PRETRAINED_DIR.value:
    completer = masked_sentences.load(_PRETRAINED_DIR.value, corpus_dir)
  live = served_model.live(
    answer_flags.MODEL_DIR.value,
    corpus_dir,
    answer_flags.INDEX_DIR.value,
    choices=answer_flags.choices(),
    allow_edits=_ALLOW_EDITS.value,
    is_live=log is not None,
  )
  return service_lib.Service(
    live,
    log=log,
    completer=completer,
    top_k=_TOP_K.value,
    batch_size=_BATCH_SIZE.value,
    queue_size=_QUEUE_SIZE.value,
  )


if __name__ == '__main__':
  launcher.run(main)
