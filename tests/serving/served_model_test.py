"""Tests for realm_tf.serving.served_model."""

import gc
import os
import threading
from unittest import mock
import weakref

from absl.testing import absltest

from realm_tf.index import model_files
from realm_tf.qa import loading
from realm_tf.retrieval import retriever
from realm_tf.retrieval import word_search
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.serving import served_model
from realm_tf.serving import service as service_lib
from tests.serving import running_server
from tests.serving import small_models

_NUM_CLIENTS = 3


class ServedModelTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.model_dir, self.corpus_dir = small_models.write_all(self.directory)

  def _serve(self, **options):
    self.live = served_model.live(self.model_dir, self.corpus_dir, **options)
    self.service = service_lib.Service(self.live)
    running = running_server.run(self.service)
    return self.enter_context(running).client

  def _publish(self, step):
    model = model_files.open_model(self.model_dir, small_models.QA).model
    for variable in model.variables:
      variable.assign(variable * 1.5)
    small_models.publish(self.model_dir, self.corpus_dir, model, step)

  def test_another_corpus_is_indexed_again(self):
    tables = [
      mock.Mock(
        num_blocks=2,
        manifest={'corpus_fingerprint': fingerprint},
        titles=lambda ids: ['x'] * len(ids),
        texts=lambda ids, texts=texts: [texts[i] for i in ids],
      )
      for fingerprint, texts in (('1', ['red', 'blue']), ('2', ['blue', 'red']))
    ]
    kept = served_model.KeptBm25()
    queries = retriever.of_texts(['red'])
    best = [
      int(kept(table).retrieve(queries, 1).block_ids[0, 0]) for table in tables
    ]
    self.assertEqual(best, [0, 1])

  def test_no_request_fails_while_a_newer_version_is_loaded(self):
    # BM25 needs words of two letters, which the tiny corpus does not have.
    build = lambda table: word_search.Bm25Retriever(
      *(['red'] * table.num_blocks, ['blue'] * table.num_blocks)
    )
    over_table = mock.patch.object(word_search, 'over_table', side_effect=build)
    over = self.enter_context(over_table)
    client = self._serve(choices=loading.Choices(sparse_weight=0.5))
    old = weakref.ref(self.live.current.answerer.reader)
    before = client.predict({'instances': ['a b ?']}).json
    replies, done = [], threading.Event()

    def ask_on():
      while not done.is_set():
        replies.append(client.predict({'instances': ['a b ?']}))

    waits = [running_server.in_thread(ask_on) for _ in range(_NUM_CLIENTS)]
    self._publish(1)
    self.assertTrue(self.service.check())
    after = client.predict({'instances': ['a b ?']}).json
    done.set()
    for wait in waits:
      wait()
    self.assertEqual({reply.status for reply in replies}, {200})
    self.assertGreater(len(replies), _NUM_CLIENTS)
    before, after = map(_score, (before, after))
    self.assertNotEqual(before, after)
    self.assertContainsSubset(
      {_score(reply.json) for reply in replies}, {before, after}
    )
    self.assertEqual(client.get('/api/about').json['params_step'], 1)
    over.assert_called_once()  # The corpus is the same.
    gc.collect()
    self.assertIsNone(old(), 'The replaced model is still in memory.')

  def test_edits_change_answers_and_survive_a_swap_and_wrong_ones_fail(self):
    client = self._serve(allow_edits=True)
    ask = lambda: client.post('/api/ask', {'question': 'a b ?'}).json
    before = ask()
    block_id = before['evidence'][0]['block_id']
    edit = lambda text: client.post(
      '/api/edit', {'block_id': block_id, 'text': text}
    )
    self.assertEqual(edit('F f f.').status, 200)
    texts = {
      z['block_id']: (z['text'], z['changed']) for z in ask()['evidence']
    }
    changed = 'F f f.', True
    self.assertEqual(texts.get(block_id, changed), changed)
    self._publish(1)
    self.assertTrue(self.service.check())
    self.assertEqual(
      self.live.current.edits.table.changed[block_id].text, 'F f f.'
    )
    self.assertEqual(edit(None).status, 200)
    for block_id, text, status in (
      (4, 'a', 404),
      (-1, 'a', 404),
      ('0', 'a', 400),
      (0, '', 400),
    ):
      reply = client.post('/api/edit', {'block_id': block_id, 'text': text})
      self.assertEqual((reply.status, list(reply.json)), (status, ['error']))
    body = {'block_id': 0, 'text': 'a'}
    self.assertEqual(client.request('POST', '/api/edit', body).status, 415)
    self.assertEmpty(self.live.current.edits.table.changed)

  def test_a_model_without_reader_shows_the_best_blocks(self):
    self.model_dir = os.path.join(self.directory, 'pretrained')
    small_models.write(self.model_dir, self.corpus_dir, small_models.PRETRAINED)
    client = self._serve()
    self.assertFalse(client.get('/api/about').json['can_answer'])
    reply = client.post('/api/ask', {'question': 'a b ?'}).json
    self.assertEqual(reply['answer'], '')
    retriever = self.live.current.answerer.retriever
    queries = self.live.current.answerer.queries(['a b ?'])
    (expected,) = retriever.retrieve(queries, 2).block_ids.tolist()
    found = [item['block_id'] for item in reply['evidence']]
    self.assertEqual(found, expected[: len(found)])
    self.assertNotEmpty(found)


class NewestTest(absltest.TestCase):
  def test_finds_the_newest_complete_versions(self):
    path = self.create_tempdir().full_path
    self.assertEqual(served_model.newest(path), (-1, -1))
    for root, step in (
      (layout.params_root(path), 5),
      (layout.index_root(path), 3),
      (layout.index_root(path), 4),
    ):
      versions.publish(root, step, lambda directory: None, {})
    os.makedirs(versions.version_path(layout.index_root(path), 9))
    self.assertEqual(served_model.newest(path), (5, 4))
    other = versions.version_path(layout.index_root(path), 3)
    self.assertEqual(served_model.newest(path, other), (5, -1))
    params = layout.params_root(path)
    self.assertEqual(served_model.newest(path, params), (5, 5))


def _score(reply):
  # The last bits depend on the size of the batch.
  return round(reply['predictions'][0]['scores'], 5)


if __name__ == '__main__':
  absltest.main()
