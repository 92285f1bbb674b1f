"""Tests of live documents over HTTP."""

import contextlib
import gc
import os
import resource
import shutil
import subprocess
import sys
import threading
from unittest import mock

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.corpus import blocks
from realm_tf.corpus import sources
from realm_tf.index import embedding
from realm_tf.index import model_files
from realm_tf.qa import loading
from realm_tf.retrieval import retrievers
from realm_tf.run import layout
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
from realm_tf.qa import loading
from realm_tf.serving import changes
from realm_tf.serving import served_model, service
choices = loading.Choices(sparse_weight=1.0)
live = served_model.live(*sys.argv[1:3], choices=choices, is_live=True)
corpus = live.current.edits.table.manifest['corpus_fingerprint']
log = changes.DocumentLog(sys.argv[3], corpus)
writer = service.Service(live, log=log).writer
for i in itertools.count():
  ids = f'{i}-a', f'{i}-b'
  change = {i: changes.Document(i, 'new', 'F f.') for i in ids}
  writer.submit(change).result()
  print(i, flush=True)
"""


def _document(article_id, text=_TEXT):
  return {'id': article_id, 'title': 'a', 'text': text}


class LiveDocumentsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.model_dir, self.corpus_dir = small_models.write_all(self.directory)
    self.running = self.enter_context(contextlib.ExitStack())

  def _serve(
    self, model_dir=None, corpus_dir=None, log='log', token=None, **choices
  ):
    model_dir = model_dir or self.model_dir
    corpus_dir = corpus_dir or self.corpus_dir
    self.running.close()  # Only one server may use a log.
    path = os.path.join(self.directory, log)
    self.service = service_lib.Service(
      served_model.live(
        *(model_dir, corpus_dir),
        choices=loading.Choices(**choices),
        is_live=True,
      ),
      log=small_models.open_log(path, corpus_dir),
    )
    self.writer = self.service.writer
    self.headers = {'Authorization': f'Bearer {token}'} if token else {}
    running = running_server.run(self.service, handlers.Settings(token=token))
    self.client = self.running.enter_context(running).client

  def _publish_again(self, step):
    model = model_files.open_model(self.model_dir, small_models.QA).model
    small_models.publish(self.model_dir, self.corpus_dir, model, step)

  def _post(self, add=(), remove=()):
    body = {'add': add, 'remove': remove}
    return self.client.post('/api/documents', body, **self.headers)

  def _found(self, k=6):
    """Returns texts and scores of the best `k` blocks of a query."""
    edits = self.writer.edits
    (ids,), (scores,) = retrievers.over_index(edits.opened)(
      np.array([[5, 6, 7]]), k
    )
    ids = [i for i in ids if i >= 0]
    return list(zip(edits.table.texts(ids), np.round(scores, 4).tolist()))

  def test_documents_are_added_replaced_removed_replayed_and_survive_swaps(
    self,
  ):
    self._serve()
    reply = self._post([_document('x'), _document('y', 'A c.')])
    self.assertEqual(reply.json, {'num_documents': 2, 'num_blocks': 6})
    self.assertContainsSubset({_TEXT, 'A c.'}, dict(self._found()))
    own = tiny.ARTICLES[0].article_id  # One block.
    reply = self._post([_document('x', 'E a.')], ['y', own])
    self.assertEqual(reply.json, {'num_documents': 1, 'num_blocks': 4})
    after = self._found()
    self.assertContainsSubset({'E a.'}, dict(after))
    self.assertNoCommonElements({_TEXT, 'A c.'}, dict(after))
    self._serve()  # The second server reads the log.
    self.assertEqual(self._found(), after)
    self._publish_again(1)
    self.assertTrue(self.service.check())
    self.assertEqual(self._found(), after)  # Both versions are equal.

    # A change during a swap is not lost.
    adopt = edited_corpus.EditedCorpus.adopt
    changing = []

    def adopt_and_change(new, old):
      adopt(new, old)
      if not changing:
        changing.append(self._post([_document('x')]).status)

    self._publish_again(2)
    with mock.patch.object(
      edited_corpus.EditedCorpus, 'adopt', adopt_and_change
    ):
      self.assertTrue(self.service.check())
    self.assertEqual(changing, [200])
    self.assertIn(_TEXT, dict(self._found()))
    # Nothing is kept of the removal of y, which no corpus has.
    self.running.close()
    log = small_models.open_log(
      os.path.join(self.directory, 'log'), self.corpus_dir
    )
    self.addCleanup(log.close)
    in_force = log.in_force()
    self.assertEqual(
      {i: bool(d) for i, d in in_force.items()}, {'x': True, own: False}
    )

  def test_finds_the_same_as_a_new_index_of_the_changed_corpus(self):
    self._serve()
    second = _document('second', 'A f. C e.')
    fourth = _document('fourth', 'D e. F a. B c. A a. D d.')
    self.assertEqual(self._post([second, fourth], ['first']).status, 200)
    changed = self._found(10)
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
    self.assertCountEqual(changed, self._found(10))

  def _found_by_own_search(self, word):
    found = self.service.model.answerer.search(word, 99)
    return [each.title for each in found]

  def test_words_alone_need_no_index_and_find_documents(self):
    model_dir, corpus_dir = small_models.write_with_words(self.directory)
    shutil.rmtree(layout.index_root(model_dir))
    self._serve(model_dir, corpus_dir, retriever='bm25')
    self._post([{**_document('x'), 'title': 'newtown'}], ['first'])
    titles = self._found_by_own_search('newtown')
    self.assertEqual(titles, ['newtown', *['Oran'] * 3])
    reply = self.client.post('/api/ask', {'question': 'newtown'}).json
    first = reply['evidence'][0]
    self.assertEqual((first['title'], first['article_id']), ('newtown', 'x'))

  def test_acknowledged_documents_survive_a_kill(self):
    paths = small_models.write_with_words(self.directory)
    log = os.path.join(self.directory, 'log')
    with subprocess.Popen(
      [sys.executable, '-c', _SERVER, *paths, log],
      stdout=subprocess.PIPE,
      text=True,
    ) as server:
      for _ in range(3):
        acknowledged = int(server.stdout.readline())
      server.kill()
      acknowledged = max([acknowledged, *map(int, server.stdout)])
    self._serve(*paths, sparse_weight=100.0)
    found = set(self.writer.edits.documents)
    whole = {f'{i}-{part}' for i in range(acknowledged + 1) for part in 'ab'}
    self.assertContainsSubset(whole, found)
    # The last, unacknowledged change may be there as a whole.
    self.assertIn(len(found) - len(whole), (0, 2))
    titles = self._found_by_own_search('new')
    self.assertEqual(titles[: len(found)], ['new'] * len(found))
    self.assertIn(_TEXT, dict(self._found(99)))

  @contextlib.contextmanager
  def _held_up(self, owner, name):
    """Gives two events: a call of `name` has begun, and calls may go on."""
    begun, gate = threading.Event(), threading.Event()
    call = getattr(owner, name)

    def hold_up(*arguments, **options):
      begun.set()
      gate.wait(running_server.SECS)
      return call(*arguments, **options)

    with mock.patch.object(owner, name, hold_up):
      yield begun, gate

  def test_requests_are_checked_in_order_and_questions_do_not_wait(self):
    self._serve()
    document = changes.Document('x', 'a', _TEXT)
    add, remove = {'x': document}, {'x': None}
    with self._held_up(changes.DocumentLog, 'write') as (begun, gate):
      self.writer.submit({'y': document._replace(article_id='y')})
      begun.wait(running_server.SECS)
      futures = [self.writer.submit(c) for c in (add, remove, remove, add)]
      gate.set()
      outcomes = [type(f.exception(running_server.SECS)) for f in futures]
    none = type(None)
    self.assertEqual(outcomes, [none, none, errors.RequestError, none])
    self.assertIn(_TEXT, dict(self._found()))

    # Questions are answered while a document is embedded.
    text = 'D d.'
    with self._held_up(embedding, 'embed_blocks') as (begun, gate):
      wait = running_server.in_thread(
        lambda: self._post([_document('z', text)])
      )
      self.assertTrue(begun.wait(running_server.SECS))
      for reply in (
        self.client.get('/healthz'),
        self.client.post('/api/ask', {'question': 'a'}),
      ):
        self.assertEqual(reply.status, 200)
      self.assertNotIn(text, dict(self._found(9)))
      gate.set()
      self.assertEqual(wait().status, 200)
    self.assertIn(text, dict(self._found(9)))

  def test_broken_or_unlogged_requests_leave_nothing(self):
    self._serve(token='secret')
    good, before = _document('x'), self._found()
    for header in ({}, {'Authorization': 'Bearer other'}):
      reply = self.client.post('/api/documents', {}, **header)
      self.assertEqual(reply.status, 401)
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
      reply = self._post(add, remove)
      self.assertEqual((reply.status, list(reply.json)), (status, ['error']))
    reply = self.client.post('/api/documents', {'add': [good]}, **self.headers)
    self.assertEqual(reply.status, 400)
    body = {'add': [good], 'remove': []}
    reply = self.client.request('POST', '/api/documents', body, self.headers)
    self.assertEqual(reply.status, 415)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, limits[1]))
    try:
      reply = self._post([_document('x', 'A c. ' * 9000)])
    finally:
      resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    self.assertEqual(reply.status, 503)
    self.assertIn('log cannot be written', reply.json['error'])
    self.assertEqual(self._found(), before)
    self.assertEmpty(self._added_texts())
    # Replaced documents are freed, too.
    for text in (_TEXT, 'A c.', 'E a.') * 3:
      reply = self._post([_document('x', text)])
      self.assertEqual(reply.json['num_documents'], 1)
    self.assertEqual(self._added_texts(), ['E a.'])
    self.assertIn('E a.', dict(self._found()))
    # An article of the corpus is removed, once.
    own = [tiny.ARTICLES[0].article_id]
    removed = self._post(remove=own).json
    self.assertEqual(removed['num_documents'], 1)
    self.assertLess(removed['num_blocks'], 5)
    self.assertLen(self._found(), removed['num_blocks'])
    self.assertEqual(self._post(remove=own).status, 404)
    question = {'question': 'a'}
    asked = self.client.post('/api/ask', question, **self.headers)
    self.assertEqual(asked.status, 200)

  def _added_texts(self):
    """Returns the texts of document x's blocks in memory."""
    gc.collect()
    return [
      each.text
      for each in gc.get_objects()
      if isinstance(each, blocks.Block) and each.article_id == 'x'
    ]


if __name__ == '__main__':
  absltest.main()
