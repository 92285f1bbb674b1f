"""Tests of a served model with an index in Milvus (milvus-lite here)."""

import os

from absl.testing import absltest

from realm_tf.index import index_builder
from realm_tf.index import model_files
from realm_tf.retrieval import retrievers
from realm_tf.run import layout
from realm_tf.serving import changes
from realm_tf.serving import served_model
from realm_tf.serving import service as service_lib
from tests.index import milvus
from tests.serving import small_models

_QUESTIONS = ['a b ?', 'c d ?', 'e f ?']


class MilvusServedTest(milvus.MilvusCase):
  def setUp(self):
    super().setUp()
    self.model_dir, self.corpus_dir = small_models.write_all(self.directory)
    self.index_dir = os.path.join(self.directory, 'in_milvus')

  def _index(self):
    builder = index_builder.open_builder(
      self.model_dir,
      self.corpus_dir,
      ['index.searcher=milvus', f'index.uri={self.uri}'],
    )
    params = model_files.open_model(self.model_dir).params
    builder.publish(params, self.index_dir)

  def _serve(self, **kwargs):
    return served_model.live(
      self.model_dir, self.corpus_dir, self.index_dir, **kwargs
    )

  def _answers(self, live):
    return [
      (answer.prediction, [item.block_id for item in answer.evidence])
      for answer in live.current.answerer.answer(_QUESTIONS)
    ]

  def _exact(self):
    return self._answers(
      served_model.live(
        self.model_dir, self.corpus_dir, layout.index_root(self.model_dir)
      )
    )

  def test_answers_agree_with_exact_search_before_and_after_a_swap(self):
    self._index()
    live = self._serve()
    self.assertEqual(self._answers(live), self._exact())
    model = small_models.write(
      os.path.join(self.directory, 'other'), self.corpus_dir, seed=1
    )
    small_models.publish(self.model_dir, self.corpus_dir, model, 1)
    self._index()
    self.assertTrue(service_lib.Service(live).check())
    self.assertEqual(live.version, served_model.Versions(1, 1))
    self.assertEqual(self._answers(live), self._exact())

  def test_live_documents_are_found(self):
    self._index()
    live = self._serve(is_live=True)
    log = os.path.join(self.directory, 'log')
    service = service_lib.Service(
      live, log=small_models.open_log(log, self.corpus_dir)
    )
    self.addCleanup(service.close)
    document = changes.Document('new', 'a', 'F f.')
    service.writer.submit({document.article_id: document}).result()
    (ids,), _ = retrievers.over_index(service.writer.edits.opened)(
      [[5, 6, 7]], service.num_blocks
    )
    self.assertIn('F f.', service.writer.edits.table.texts(ids))


if __name__ == '__main__':
  absltest.main()
