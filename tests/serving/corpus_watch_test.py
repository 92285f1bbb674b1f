"""Tests for realm_tf.serving.corpus_watch."""

import os
import shutil
from unittest import mock

from absl.testing import absltest

from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.retrieval import retrievers
from realm_tf.serving import changes
from realm_tf.serving import corpus_watch
from realm_tf.serving import served_model
from realm_tf.serving import service as service_lib
from tests import tiny
from tests.serving import small_models

_FIRST, _SECOND, _THIRD = tiny.ARTICLES
_CHANGED = _SECOND._replace(text='F e. D c. A a. E f. C b. D d. B a.')
_NEW = sources.Article('a', 'E f. A d. C c. F a. B b.', 'new')


def _blocks(table, ids):
  return sorted(zip(table.titles(ids), table.texts(ids), strict=True))


class CorpusWatchTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.model_dir, self.corpus_dir = small_models.write_all(self.directory)
    self.watched_dir = os.path.join(self.directory, 'watched', 'corpus')
    self.log = os.path.join(self.directory, 'log')
    self._serve()
    self.addCleanup(lambda: self._end())  # Tests replace the service.

  def _serve(self):
    live = served_model.live(self.model_dir, self.corpus_dir, is_live=True)
    log = small_models.open_log(self.log, self.corpus_dir)
    self.service = service_lib.Service(live, log=log)
    self.writer = self.service.writer
    self.edits = self.writer.edits
    self._watch()

  def _watch(self):
    self.watch = corpus_watch.CorpusWatch(
      self.writer, self.corpus_dir, self.watched_dir
    )

  def _end(self):
    self.watch.close()
    self.service.close()

  def _write(self, articles):
    shutil.rmtree(self.watched_dir, ignore_errors=True)
    tiny.write_corpus(os.path.dirname(self.watched_dir), articles)

  def _found(self):
    (ids,), _ = retrievers.over_index(self.edits.opened)(
      [[5, 6, 7]], self.service.num_blocks
    )
    return _blocks(self.edits.table, ids)

  def _in_corpus(self):
    table = block_table.BlockTable.open(self.watched_dir)
    return _blocks(table, range(table.num_blocks))

  def test_a_search_finds_exactly_the_blocks_of_the_newer_corpus(self):
    self.assertFalse(self.watch.check())
    self._write([_FIRST, _CHANGED, _NEW])
    self.assertTrue(self.watch.check())
    self.assertEqual(self._found(), self._in_corpus())
    self.assertLen(self._found(), self.service.num_blocks)
    self.assertEqual(list(self.edits.documents), [_SECOND.article_id, 'new'])
    self.assertFalse(self.watch.check())
    self._write(tiny.ARTICLES)
    self.assertTrue(self.watch.check())
    self.assertEqual(self._found(), self._in_corpus())

  def test_a_restarted_server_continues_and_makes_no_change_twice(self):
    self._write([_FIRST, _CHANGED, _NEW])
    self.watch.close()
    self.watch.check()
    self.assertEmpty(self.edits.documents)
    self._watch()
    self.watch.check()
    self.assertEqual(self._found(), self._in_corpus())
    self._end()
    self._serve()
    with mock.patch.object(changes.DocumentLog, 'write') as write:
      self.assertTrue(self.watch.check())
    write.assert_not_called()
    self.assertEqual(self._found(), self._in_corpus())

  def test_posted_documents_stay(self):
    posted = changes.Document('posted', 'a', 'E a.')
    over = changes.Document(_FIRST.article_id, 'a', 'A c.')
    change = {each.article_id: each for each in (posted, over)}
    self.writer.submit(change).result()
    self._write([*tiny.ARTICLES, _NEW])
    self.watch.check()
    for each in (posted, over):
      self.assertEqual(self.edits.documents[each.article_id], each)
    self.assertTrue(self.edits.knows('new'))


if __name__ == '__main__':
  absltest.main()
