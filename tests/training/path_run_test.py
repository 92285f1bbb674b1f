"""Tests for realm_tf.training.path_trainer."""

import os
import tempfile

from absl.testing import absltest
import numpy as np

from realm_tf import config as config_lib
from realm_tf.corpus import questions as questions_lib
from realm_tf.corpus import sources
from realm_tf.data import corpus_files
from realm_tf.data import link_graph
from realm_tf.qa import loading
from realm_tf.retrieval import linked_blocks
from realm_tf.run import layout
from realm_tf.training import finetuning
from realm_tf.training import inverse_cloze_run
from realm_tf.training import job
from realm_tf.training import path_trainer
from tests import fakes
from tests import tiny
from tests.training import killed

# A question's words stand in one article, its answer in the linked article.
_ARTICLES = (
  sources.Article('a', 'A b c.', 'first', links=('e',)),
  sources.Article('b', 'D c c.', 'second', links=('f',)),
  sources.Article('e', 'E f d.', 'third', links=()),
  sources.Article('f', 'F d b.', 'fourth', links=()),
)
_QUESTIONS = [
  questions_lib.Question('a b', ('e f',), gold_id='third'),
  questions_lib.Question('d c', ('d b',), gold_id='fourth'),
  questions_lib.Question('f d', ('e f d',), gold_id='third'),
]


class PathRunTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.directory = cls.enter_context(tempfile.TemporaryDirectory())
    cls.corpus_dir = os.path.join(cls.directory, 'linked')
    links = link_graph.CorpusLinks('markup')
    size = tiny.MAX_BLOCK_WORDPIECES
    batches = corpus_files.cut(links.noting(_ARTICLES), tiny.TOKENIZER, size)
    corpus_files.write(
      batches,
      cls.corpus_dir,
      tiny.TOKENIZER,
      source={},
      max_block_wordpieces=size,
      links=links,
    )
    # With other heads all embeddings of this small network are equal.
    embedder = config_lib.EmbedderConfig(head='mean')
    cls.config = tiny.config(
      model={'embedder': embedder},
      path=config_lib.PathConfig(
        optimizer=config_lib.OptimizerConfig(1e-2, 60, warmup_steps=5),
        batch_size=3,
        checkpoint_every_steps=killed.CHECKPOINT_EVERY,
        log_every_steps=1,
      ),
    )
    cls.ict = os.path.join(cls.directory, 'ict')
    with tiny.eagerly():
      inverse_cloze_run.run(cls._inputs(), [], job.Job(cls.ict))
    cls.path = cls._train('path')

  @classmethod
  def _inputs(cls, **path):
    return job.open_inputs(tiny.changed(cls.config, path=path), cls.corpus_dir)

  @classmethod
  def _train(cls, name, resume=False, **path):
    run_dir = os.path.join(cls.directory, name)
    inputs = cls._inputs(**path)
    linked = linked_blocks.LinkedBlocks.over_table(inputs.table)
    run = job.Job(run_dir, job.InitFrom(cls.ict), resume=resume)
    path_trainer.run(
      inputs,
      _QUESTIONS,
      run,
      linked=linked,
      words=fakes.FakeRetriever([0, 1], [0.0, 0.0]),
    )
    return run_dir

  def _rows(self, run_dir):
    return tiny.read_rows(layout.metrics_file(run_dir))

  def _answerer(self, model_dir):
    choices = loading.Choices(retriever='path')
    return loading.load_answerer(model_dir, self.corpus_dir, None, choices)

  def test_learns_which_link_leads_to_the_answer(self):
    rows = self._rows(self.path)
    self.assertEqual(rows[0]['a_path_has_answer'], 100)
    self.assertLess(rows[-1]['loss'], rows[0]['loss'] / 2)
    self.assertEqual(rows[-1]['best_path_has_answer'], 100)
    answerer = self._answerer(self.path)
    queries = answerer.queries([q.question for q in _QUESTIONS])
    found = answerer.retriever.retrieve(queries, 1)
    ids = answerer.table.article_ids(found.block_ids[:, 0].tolist())
    self.assertEqual(list(ids), ['third', 'fourth', 'third'])

  def test_a_reader_trained_on_paths_keeps_their_scorer(self):
    before = self._answerer(self.path)
    run_dir = os.path.join(self.directory, 'qa')
    with tiny.eagerly():
      finetuning.run(
        self._inputs(),
        _QUESTIONS,
        job.Job(run_dir, job.InitFrom(self.path)),
        retriever=before.retriever,
      )
    after = self._answerer(run_dir)
    self.assertIsNotNone(after.reader)
    queries = after.queries([question.question for question in _QUESTIONS])
    found, expected = (
      each.retriever.retrieve(queries, 3).scores for each in (after, before)
    )
    np.testing.assert_array_equal(found, expected)

  def test_a_resumed_run_equals_an_uninterrupted_run(self):
    options = {'optimizer': config_lib.OptimizerConfig(1e-2, killed.STEPS)}
    killed.check_resume(
      self,
      path_trainer.PathTrainer,
      lambda name, resume: self._train(name, resume, **options),
    )


if __name__ == '__main__':
  absltest.main()
