"""Tests of live documents over HTTP."""

import contextlib
import gc
import os
import resource
import subprocess
import sys
import tempfile
import threading
from unittest import mock

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.corpus import blocks
from realm_tf.corpus import sources
from realm_tf.index import embedding
from realm_tf.index import model_files
from realm_tf.retrieval import retrievers
from realm_tf.serving import changes
from realm_tf.serving import edited_corpus
from realm_tf.serving import handlers
from realm_tf.serving import served_model
from realm_tf.serving import service as service_lib
from tests import tiny
from tests.serving import running_server
from tests.serving import small_models

_TEXT = 'F f.'  # One block.
# Adds documents 0, 1, ... and prints each number after the acknowledgement.
_SERVER = """
import itertools, sys
from realm_tf.serving import changes
from realm_tf.serving import served_model, service
live = served_model.live(sys.argv[1], sys.argv[2], is_live=True)
corpus = live.current.edits.table.manifest['corpus_fingerprint']
log = changes.DocumentLog(sys.argv[3], corpus)
writer = service.Service(live, log=log).writer
for i in itertools.count():
  change = changes.Change(
    [changes.Document(f'{i}-{part}', 'a', 'F f.') for part in 'ab'], []
  )
  writer.submit(change).result()
  print(i, flush=True)
"""


def _document(article_id, text=_TEXT):
  return {'id': article_id, 'title': 'a', 'text': text}


class _Server:
  """A model and a corpus that are served with a log of documents."""

  def __init__(self, model_dir, corpus_dir, log, token=None):
    self.service = service_lib.Service(
      served_model.live(model_dir, corpus_dir, is_live=True),
      log=small_models.open_log(log, corpus_dir),
    )
    self.writer = self.service.writer
    self._stack = contextlib.ExitStack()
    running = running_server.run(self.service, handlers.Settings(token=token))
    self.client = self._stack.enter_context(running).client
    self.close = self._stack.close

  def post(self, add=(), remove=()):
    return self.client.post('/api/documents', {'add': add, 'remove': remove})

  def found(self, k=6):
    """Returns texts and scores of the best `k` blocks of a query."""
    edits = self.writer.edits
    (ids,), (scores,) = retrievers.over_index(edits.opened)(
      np.array([[5, 6, 7]]), k
    )
    ids = [i for i in ids if i >= 0]
    return list(zip(edits.table.texts(ids), np.round(scores, 4).tolist()))


class LiveDocumentsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.model_dir, self.corpus_dir = small_models.write_all(self.directory)
    self.server = None

  def _serve(self, model_dir=None, corpus_dir=None, log='log', token=None):
    if self.server:
      self.server.close()  # Only one server may use a log.
    self.server = _Server(
      model_dir or self.model_dir,
      corpus_dir or self.corpus_dir,
      os.path.join(self.directory, log),
      token,
    )
    self.addCleanup(self.server.close)

  def _publish_again(self):
    model = model_files.open_model(self.model_dir, small_models.QA).model
    small_models.publish(self.model_dir, self.corpus_dir, model, 1)

  def test_documents_are_added_replaced_removed_and_replayed(self):
    self._serve()
    reply = self.server.post([_document('x'), _document('y', 'A c.')])
    self.assertEqual(reply.json, {'num_documents': 2, 'num_blocks': 6})
    self.assertContainsSubset({_TEXT, 'A c.'}, dict(self.server.found()))
    reply = self.server.post([_document('x', 'E a.')], ['y'])
    self.assertEqual(reply.json, {'num_documents': 1, 'num_blocks': 5})
    after = self.server.found()
    self.assertContainsSubset({'E a.'}, dict(after))
    self.assertNoCommonElements({_TEXT, 'A c.'}, dict(after))
    self._serve()  # The second server reads the log.
    self.assertEqual(self.server.found(), after)
    self._publish_again()
    self.assertTrue(self.server.service.check())
    self.assertEqual(self.server.found(), after)  # Both versions are equal.

  def test_a_change_during_a_swap_is_not_lost(self):
    self._serve()
    adopt = edited_corpus.EditedCorpus.adopt
    changing = []

    def adopt_and_change(new, old):
      adopt(new, old)
      if not changing:
        changing.append(self.server.post([_document('x')]).status)

    self._publish_again()
    with mock.patch.object(
      edited_corpus.EditedCorpus, 'adopt', adopt_and_change
    ):
      self.assertTrue(self.server.service.check())
    self.assertEqual(changing, [200])
    self.assertIn(_TEXT, dict(self.server.found()))

  def test_removals_of_other_ids_are_forgotten_at_the_next_start(self):
    self._serve()
    own = tiny.ARTICLES[0].article_id
    self.server.post([_document('x'), _document('y')])
    self.server.post(remove=['x', own])
    self._serve()
    self.server.close()
    log = small_models.open_log(
      os.path.join(self.directory, 'log'), self.corpus_dir
    )
    self.addCleanup(log.close)
    in_force = log.in_force()
    self.assertEqual([each.article_id for each in in_force.add], ['y'])
    self.assertEqual(in_force.remove, [own])

  def test_finds_the_same_as_a_new_index_of_the_changed_corpus(self):
    self._serve()
    second = _document('second', 'A f. C e.')
    fourth = _document('fourth', 'D e. F a. B c. A a. D d.')
    self.assertEqual(self.server.post([second, fourth], ['first']).status, 200)
    changed = self.server.found(10)
    corpus_dir = tiny.write_corpus(
      os.path.join(self.directory, 'again'),
      [
        tiny.ARTICLES[2],
        *(sources.Article('a', d['text'], d['id']) for d in (second, fourth)),
      ],
    )
    model_dir = os.path.join(self.directory, 'again_model')
    small_models.write(model_dir, corpus_dir)
    self._serve(model_dir, corpus_dir, 'again_log')
    self.assertCountEqual(changed, self.server.found(10))

  def test_acknowledged_documents_survive_a_kill(self):
    log = os.path.join(self.directory, 'log')
    with subprocess.Popen(
      [sys.executable, '-c', _SERVER, self.model_dir, self.corpus_dir, log],
      stdout=subprocess.PIPE,
      text=True,
    ) as server:
      for _ in range(3):
        acknowledged = int(server.stdout.readline())
      server.kill()
      acknowledged = max([acknowledged, *map(int, server.stdout)])
    self._serve()
    found = set(self.server.writer.edits.documents)
    whole = {f'{i}-{part}' for i in range(acknowledged + 1) for part in 'ab'}
    self.assertContainsSubset(whole, found)
    # The last, unacknowledged change may be there as a whole.
    self.assertIn(len(found) - len(whole), (0, 2))

  def test_an_article_of_the_corpus_is_removed_with_the_token(self):
    self._serve(token='secret')
    body = {'add': [], 'remove': [tiny.ARTICLES[0].article_id]}
    for token, status in (
      *(('', 401), ('other', 401), ('secret', 200), ('secret', 404)),
    ):
      reply = self.server.client.post(
        '/api/documents', body, Authorization=f'Bearer {token}'
      )
      self.assertEqual(reply.status, status)
      if status == 200:
        self.assertEqual(reply.json['num_documents'], 0)
        self.assertLen(self.server.found(), reply.json['num_blocks'])
        self.assertLess(reply.json['num_blocks'], 4)
    asked = self.server.client.post(
      '/api/ask', {'question': 'a'}, Authorization='Bearer secret'
    )
    self.assertEqual(asked.status, 200)


class OneServerTest(absltest.TestCase):
  """Tests that leave no document, so they share a server."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    directory = cls.enter_context(tempfile.TemporaryDirectory())
    paths = small_models.write_all(directory)
    cls.server = _Server(*paths, os.path.join(directory, 'log'))
    cls.addClassCleanup(cls.server.close)

  def tearDown(self):
    if documents := list(self.server.writer.edits.documents):
      self.server.post(remove=documents)
    super().tearDown()

  def test_a_change_that_cannot_be_logged_is_503_and_leaves_nothing(self):
    before = self.server.found()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, limits[1]))
    try:
      reply = self.server.post([_document('x', 'A c. ' * 9000)])
    finally:
      resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    self.assertEqual(reply.status, 503)
    self.assertIn('log cannot be written', reply.json['error'])
    self.assertEqual(self.server.found(), before)
    self.assertEmpty(self._added_texts())
    self.assertEqual(
      self.server.post([_document('x')]).json['num_documents'], 1
    )

  def test_replaced_documents_are_freed(self):
    for text in (_TEXT, 'A c.', 'E a.') * 3:
      self.assertEqual(self.server.post([_document('x', text)]).status, 200)
    self.assertEqual(self._added_texts(), ['E a.'])
    self.assertIn('E a.', dict(self.server.found()))

  def _added_texts(self):
    """Returns the texts of document x's blocks in memory."""
    gc.collect()
    return [
      each.text
      for each in gc.get_objects()
      if isinstance(each, blocks.Block) and each.article_id == 'x'
    ]

  def test_requests_of_one_batch_are_checked_in_order(self):
    begun, gate = threading.Event(), threading.Event()
    write = changes.DocumentLog.write

    def hold_up(log, documents):
      begun.set()
      gate.wait(running_server.SECS)
      write(log, documents)

    add = changes.Change([changes.Document('x', 'a', _TEXT)])
    remove = changes.Change([], ['x'])
    with mock.patch.object(changes.DocumentLog, 'write', hold_up):
      self.server.writer.submit(
        changes.Change([changes.Document('y', 'a', _TEXT)])
      )
      begun.wait(running_server.SECS)
      futures = [
        self.server.writer.submit(c) for c in (add, remove, remove, add)
      ]
      gate.set()
      outcomes = [type(f.exception(running_server.SECS)) for f in futures]
    none = type(None)
    self.assertEqual(outcomes, [none, none, errors.RequestError, none])
    self.assertIn(_TEXT, dict(self.server.found()))

  def test_questions_are_answered_while_a_document_is_embedded(self):
    begun, gate = threading.Event(), threading.Event()
    embed = embedding.embed_blocks

    def hold_up(*arguments, **options):
      begun.set()
      gate.wait(running_server.SECS)
      return embed(*arguments, **options)

    with mock.patch.object(embedding, 'embed_blocks', hold_up):
      wait = running_server.in_thread(
        lambda: self.server.post([_document('x')])
      )
      self.assertTrue(begun.wait(running_server.SECS))
      for reply in (
        self.server.client.get('/healthz'),
        self.server.client.post('/api/ask', {'question': 'a'}),
      ):
        self.assertEqual(reply.status, 200)
      self.assertNotIn(_TEXT, dict(self.server.found()))
      gate.set()
      self.assertEqual(wait().status, 200)
    self.assertIn(_TEXT, dict(self.server.found()))

  def test_broken_requests_change_nothing(self):
    good, before = _document('x'), self.server.found()
    for add, remove, status in (
      ([], [], 400),
      ([good, good], [], 400),
      ([good], ['x'], 400),
      ([good], ['not there'], 404),
      ([good, {'id': 'z'}], [], 400),
      ([_document('x', '')], [], 400),
      ([_document('x', 'a' * 100_001)], [], 400),
      ([_document(str(i)) for i in range(65)], [], 400),
    ):
      reply = self.server.post(add, remove)
      self.assertEqual((reply.status, list(reply.json)), (status, ['error']))
    reply = self.server.client.post('/api/documents', {'add': [good]})
    self.assertEqual(reply.status, 400)
    body = {'add': [good], 'remove': []}
    reply = self.server.client.request('POST', '/api/documents', body)
    self.assertEqual(reply.status, 415)
    self.assertEqual(self.server.found(), before)


if __name__ == '__main__':
  absltest.main()
