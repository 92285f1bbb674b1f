"""Tests of live documents: search, the log, swaps and broken requests."""

import os

from absl.testing import absltest
import numpy as np

from realm_tf.index import brute_force
from realm_tf.serving import handlers
from realm_tf.serving import live_search
from realm_tf.serving import served_model
from realm_tf.serving import service as service_lib
from tests import tiny
from tests.serving import running_server
from tests.serving import small_models

_TEXT = 'F f.'  # One block.


def _document(article_id, text=_TEXT):
  return {'id': article_id, 'title': 'a', 'text': text}


class LiveSearchTest(absltest.TestCase):
  def test_agrees_with_exact_search_after_random_changes(self):
    rng = np.random.default_rng(0)
    base = rng.normal(size=[40, 4]).astype(np.float32)
    queries = rng.normal(size=[3, 4]).astype(np.float32)
    index = brute_force.BruteForceSearcher(base)
    search = live_search.LiveSearch(40)
    now = dict(enumerate(base))
    for _ in range(300):
      block_id = int(rng.integers(60))
      if rng.random() < 0.6:
        search.remove([block_id])
        now.pop(block_id, None)
      else:
        now[block_id] = rng.normal(size=4).astype(np.float32)
        search.put(np.array([block_id]), now[block_id][None])
      found = search.search(
        lambda n: index.search(queries, n), lambda: queries, 5
      )
      ids = np.array(sorted(now))
      scores = queries @ np.array([now[i] for i in ids]).T
      best = np.argsort(-scores, axis=1)[:, :5]
      np.testing.assert_array_equal(found.block_ids, ids[best])

  def test_all_removed(self):
    base = np.eye(3, dtype=np.float32)
    index = brute_force.BruteForceSearcher(base)
    search = live_search.LiveSearch(3)
    search.remove(range(3))
    found = search.search(lambda n: index.search(base, n), lambda: base, 2)
    np.testing.assert_array_equal(found.block_ids, np.full([3, 2], -1))
    search.restore(np.array([1]))
    found = search.search(lambda n: index.search(base, n), lambda: base, 2)
    np.testing.assert_array_equal(found.block_ids, [[1, -1]] * 3)


class LiveDocumentsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.corpus_dir = tiny.write_corpus(self.directory)
    self.model_dir = os.path.join(self.directory, 'qa')
    self.model = small_models.write(self.model_dir, self.corpus_dir)

  def _serve(self):
    self.live = served_model.live(self.model_dir, self.corpus_dir, is_live=True)
    log = os.path.join(self.directory, 'log')
    service = service_lib.Service(self.live, documents_log=log)
    running = running_server.run(service, handlers.Settings())
    return self.enter_context(running).client

  def _found(self, k=6):
    """Returns text -> score of all that a query finds."""
    edits = self.live.current.edits
    (ids,), (scores,) = edits.retriever(np.array([[5, 6, 7]]), k)
    ids = [i for i in ids if i >= 0]
    return list(zip(edits.table.texts(ids), np.round(scores, 4).tolist()))

  def test_added_replaced_removed_and_replayed(self):
    client = self._serve()
    post = lambda add, remove: client.post(
      '/api/documents', {'add': add, 'remove': remove}
    )
    reply = post([_document('x'), _document('y', 'A c.')], [])
    self.assertEqual(reply.json, {'num_documents': 2, 'num_blocks': 6})
    self.assertContainsSubset({_TEXT, 'A c.'}, dict(self._found()))
    self.assertEqual(post([_document('x', 'E a.')], ['y']).status, 200)
    after = self._found()
    self.assertContainsSubset({'E a.'}, dict(after))
    self.assertNoCommonElements({_TEXT, 'A c.'}, dict(after))
    self._serve()  # Another server of the same log.
    self.assertEqual(self._found(), after)
    small_models.publish(self.model_dir, self.corpus_dir, self.model, 1)
    self.assertTrue(self.live.check())
    self.assertEqual(self._found(), after)  # The same weights once more.

  def test_an_article_of_the_corpus_is_removed(self):
    client = self._serve()
    (own,) = self.live.current.edits._base.article_ids([0])
    reply = client.post('/api/documents', {'add': [], 'remove': [own]})
    self.assertEqual(reply.json['num_documents'], 0)
    self.assertLen(self._found(), reply.json['num_blocks'])
    self.assertLess(reply.json['num_blocks'], 4)
    again = client.post('/api/documents', {'add': [], 'remove': [own]})
    self.assertEqual(again.status, 404)
    self.assertEqual(client.post('/api/ask', {'question': 'a'}).status, 200)

  def test_broken_requests_change_nothing(self):
    client = self._serve()
    good, before = _document('x'), self._found()
    for body, status in (
      ({'add': [good]}, 400),
      ({'add': [], 'remove': []}, 400),
      ({'add': [good, good], 'remove': []}, 400),
      ({'add': [good], 'remove': ['x']}, 400),
      ({'add': [good], 'remove': ['not there']}, 404),
      ({'add': [good, {'id': 'z'}], 'remove': []}, 400),
      ({'add': [_document('x', '')], 'remove': []}, 400),
      ({'add': [_document('x', 'a' * 100_001)], 'remove': []}, 400),
      ({'add': [_document(str(i)) for i in range(65)], 'remove': []}, 400),
    ):
      reply = client.post('/api/documents', body)
      self.assertEqual((reply.status, list(reply.json)), (status, ['error']))
    body = {'add': [good], 'remove': []}
    self.assertEqual(client.request('POST', '/api/documents', body).status, 415)
    self.assertEqual(self._found(), before)


if __name__ == '__main__':
  absltest.main()
