"""Tests for realm_tf.training.inverse_cloze_run."""

import itertools
import os
import shutil
import types

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import block_table
from realm_tf.model import realm_model
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.training import answer_labels
from realm_tf.training import inverse_cloze_run
from realm_tf.training import job
from tests import fakes
from tests import model_dirs
from tests import tiny


def _run_config(**changes):
  """Returns a config with scores far from 0, for fast learning."""
  return tiny.config(
    model={
      'embedder_bert': {'initializer_range': 0.5},
      'embedder': {'score_scale': 100.0},
    },
    inverse_cloze=changes,
  )


class InverseClozeRunTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(tiny.eagerly())
    self.directory = self.create_tempdir().full_path
    self.corpus_dir = tiny.write_corpus(self.directory)

  def _run(self, name, config, questions=(), **start):
    run_dir = os.path.join(self.directory, name)
    inputs = job.open_inputs(config, self.corpus_dir)
    inverse_cloze_run.run(inputs, questions, job.Job(run_dir, **start))
    return run_dir

  def test_learns_from_questions_with_and_without_chunks(self):
    table = block_table.BlockTable.open(self.corpus_dir)
    ids = range(table.num_blocks)
    questions = [
      questions_lib.Question(text[:3], (text[:1],), gold_id=article_id)
      for text, article_id in zip(table.texts(ids), table.article_ids(ids))
    ]
    losses = []
    for chunk_size in (0, 2):
      config = _run_config(batch_size=4, chunk_size=chunk_size)
      run_dir = self._run(str(chunk_size), config, questions)
      rows = tiny.read_rows(layout.metrics_file(run_dir))
      losses.append([row['loss'] for row in rows])
    np.testing.assert_allclose(*losses, rtol=0, atol=5e-6)
    self.assertLess(losses[0][-1], losses[0][0] - 0.1)

  def test_a_warm_start_trains_the_embedders_and_publishes_the_rest(self):
    parts = realm_model.MASKED_LM, realm_model.SPAN, realm_model.EMBEDDER
    inputs = job.open_inputs(tiny.config(), self.corpus_dir)
    start = os.path.join(self.directory, 'start')
    model = model_dirs.write(start, inputs, parts, noise=0.1)
    expected = weights.values(model.variables)

    def published(run_dir):
      newest = versions.newest(layout.params_root(run_dir))
      arrays = weights.read(layout.params_file(newest.path))
      self.assertEqual(arrays.keys(), expected.keys())
      for name, value in expected.items():
        if name.startswith(realm_model.READER_PREFIXES):
          np.testing.assert_array_equal(arrays[name], value, name)
      return arrays

    first = self._run('1', tiny.config(), init_from=job.InitFrom(start))
    arrays = published(first)
    for tower in ('query', 'block'):
      words = f'{tower}_bert/word_embeddings/embeddings'
      moved = np.abs(arrays[words] - expected[words]).max()
      self.assertBetween(moved, 1e-4, 0.05)  # It began there.
    # The next warm start, for example on questions, publishes the rest too.
    published(self._run('2', tiny.config(), init_from=job.InitFrom(first)))
    # Like a kill before publication; it needs no init_from.
    shutil.rmtree(layout.params_root(first))
    published(self._run('1', tiny.config(), resume=True))

  def test_questions_without_a_block_leave_no_run_directory(self):
    question = questions_lib.Question('a ?', ('zz',), gold_id='first')
    with self.assertRaisesRegex(errors.UserError, 'of the first 1 answers'):
      self._run('run', _run_config(), [question])
    self.assertFalse(os.path.exists(os.path.join(self.directory, 'run')))

  def test_a_part_that_is_not_whole_chunks_is_a_user_error(self):
    # A batch of 8 is 2 chunks of 4, but a quarter of it is half a chunk.
    config = _run_config(batch_size=8, chunk_size=4)
    inputs = job.Inputs(config, None, None, None)
    four = types.SimpleNamespace(num_replicas_in_sync=4, cluster_resolver=None)
    with self.assertRaisesRegex(
      errors.UserError, 'Found 2 examples on each of 4 replicas, and .*size=4'
    ):
      inverse_cloze_run.run(inputs, [], job.Job(self.directory, devices=four))

  def test_a_batch_that_is_not_whole_chunks_is_no_config(self):
    with self.assertRaisesRegex(ValueError, 'batch_size=8, chunk_size=3'):
      _run_config(batch_size=8, chunk_size=3)
    with self.assertRaisesRegex(ValueError, 'chunk_size=-1'):
      _run_config(batch_size=8, chunk_size=-1)


_ORDINARY_IDS = np.arange(5, 12, dtype=np.int32)
# Twelve blocks with three titles; article i is block i.
_TITLES = ['a'] * 5 + ['b'] * 4 + ['c'] * 3
_TEXTS = [['a b', 'c d', 'e f'][i % 3] + ' .' * (i % 2) for i in range(12)]
_NAMES = 'query_ids', 'title_ids', 'body_ids'
_ANSWERS = [text[0] for text in _TEXTS]


def _config(**changes):
  return tiny.config(inverse_cloze=changes)


def _words(ids):
  return tiny.TOKENIZER.detokenize(ids[ids > 0])


class InverseClozeBatchesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.table = tiny.open_corpus(self.create_tempdir().full_path)

  def _take(self, number, config):
    batches = inverse_cloze_run.sentence_batches(
      self.table, _ORDINARY_IDS, config
    )
    return list(itertools.islice(batches, number))

  @parameterized.parameters((1.0, False), (0.0, True))
  def test_the_sentence_leaves_its_block_at_the_rate(self, rate, stays):
    texts = {
      _words(tiny.TOKENIZER.tokenize(text).ids)
      for text in self.table.texts(range(4))
    }
    (batch,) = self._take(1, _config(remove_rate=rate, batch_size=4))
    for query, body in zip(batch['query_ids'], batch['body_ids']):
      sentence, rest = _words(query), _words(body)
      self.assertLen(sentence.split(), 3)  # Two words and a full stop.
      if stays:
        self.assertIn(rest, texts)
        self.assertIn(sentence, rest)
      else:  # The rest closes the gap.
        whole = {f'{sentence} {rest}', f'{rest} {sentence}'}
        self.assertLen(whole & texts, 1)

  def test_noise_changes_the_query_and_not_the_block(self):
    (clean,) = self._take(1, _config(remove_rate=0.0))
    (noisy,) = self._take(1, _config(remove_rate=0.0, query_noise_rate=1.0))
    np.testing.assert_array_equal(noisy['body_ids'], clean['body_ids'])
    self.assertTrue((noisy['query_ids'] != clean['query_ids']).any())
    self.assertEqual((noisy['query_ids'] > 0).sum(), 2 * 3)

  def test_dropped_words_leave_the_query_and_not_the_block(self):
    (whole,) = self._take(1, _config(remove_rate=0.0))
    (part,) = self._take(1, _config(remove_rate=0.0, query_drop_rate=1.0))
    np.testing.assert_array_equal(part['body_ids'], whole['body_ids'])
    self.assertEqual((part['query_ids'] > 0).sum(axis=1).tolist(), [1, 1])

  @parameterized.parameters(
    # [CLS], a title of one wordpiece and two [SEP] leave 3, 5 and 2 wordpieces
    # for the body. Each sentence has 3.
    (7, 3, 3),  # Only the first sentence fits, so it stays.
    (9, 3, 2),  # Only the first fits; two wordpieces of the second stay.
    (6, 2, 2),  # None fits: the query is the start of the first.
  )
  def test_only_sentences_that_are_embedded_whole_are_queries(
    self, block_tokens, query_length, body_length
  ):
    config = tiny.config(
      inverse_cloze={'remove_rate': 1.0}, lengths={'block_tokens': block_tokens}
    )
    starts = {self.table.texts([i])[0][:3].lower() for i in range(4)}
    for batch in self._take(10, config):
      for query, body in zip(batch['query_ids'], batch['body_ids']):
        self.assertIn(_words(query)[:3], starts)
        self.assertEqual(np.count_nonzero(query), query_length)
        self.assertEqual(np.count_nonzero(body), body_length)


def _pairs_config(**changes):
  defaults = {'batch_size': 4, 'questions_of_title': 2}
  return tiny.config(inverse_cloze=defaults | changes)


def _labels(*questions):
  config = tiny.config(finetuning={'supervision': 'gold'}).finetuning
  table = fakes.FakeTable(tiny.TOKENIZER, _TITLES, _TEXTS)
  tokenized = answer_labels.tokenize(questions, tiny.TOKENIZER, 6)
  return answer_labels.AnswerLabels(
    tokenized, table, tiny.TOKENIZER, config=config
  )


def _on_every_block(*words):
  """Returns labels of questions on each block, by default two."""
  return _labels(
    *(
      questions_lib.Question(f'{word} f', (answer,), gold_id=f'article {i}')
      for i, answer in enumerate(_ANSWERS)
      for word in words or ('a', 'b')
    )
  )


def _take(number, labels, config):
  pairs = inverse_cloze_run.find_pairs(labels)
  batches = inverse_cloze_run.question_batches(*pairs, labels, config)
  return list(itertools.islice(batches, number))


class FindTest(absltest.TestCase):
  def test_a_question_gets_a_block_of_its_article(self):
    labels = _labels(
      questions_lib.Question('?', ('e',), gold_id='article 5'),
      questions_lib.Question('?', ('zz',), gold_id='article 5'),
      questions_lib.Question('?', ('a',), gold_id='article 3'),
    )
    rows, block_ids = inverse_cloze_run.find_pairs(labels)
    self.assertEqual(rows.tolist(), [0, 2])  # The second has no answer.
    self.assertEqual(block_ids.tolist(), [5, 3])

  def test_other_questions_get_the_first_found_block_with_an_answer(self):
    labels = _labels(
      questions_lib.Question('?', ('c',)),
      questions_lib.Question('?', ('e',), gold_id='article 2'),
      questions_lib.Question('?', ('zz',)),
    )
    retriever = fakes.FakeRetriever([3, 7, 1, -1], [0.0] * 4)
    rows, block_ids = inverse_cloze_run.find_pairs(labels, retriever)
    self.assertEqual([len(ids) for ids in retriever.asked], [2])  # Not 3.
    self.assertEqual(rows.tolist(), [0, 1])
    self.assertEqual(block_ids.tolist(), [7, 2])

  def test_without_any_block_there_is_a_user_error(self):
    labels = _labels(questions_lib.Question('?', ('zz',)))
    with self.assertRaisesRegex(errors.UserError, 'Found none for 1 questions'):
      inverse_cloze_run.find_pairs(labels)


class BatchesTest(absltest.TestCase):
  def test_an_epoch_deals_each_question_once(self):
    # 24 questions give 6 batches; the titles' 10, 8 and 6 are groups of 2.
    batches = _take(6, _on_every_block(), _pairs_config())
    dealt = [
      tuple(_words(batch[name][i]) for name in _NAMES)
      for batch in batches
      for i in range(4)
    ]
    expected = [
      (word, title, text)
      for title, text in zip(_TITLES, _TEXTS)
      for word in ('a f', 'b f')
    ]
    self.assertCountEqual(dealt, expected)

  def test_questions_of_a_title_come_together_on_different_blocks(self):
    for size in (2, 6):  # The greatest common divisor of 6 and 4 is 2.
      config = _pairs_config(questions_of_title=size)
      for batch in _take(6, _on_every_block(), config):
        for pair in (slice(2), slice(2, 4)):
          self.assertLen({*map(_words, batch['title_ids'][pair])}, 1)
          self.assertLen({*map(_words, batch['body_ids'][pair])}, 2)

  def test_a_copy_of_the_own_block_is_no_negative(self):
    # One batch of all questions: each block occurs for two of them.
    (batch,) = _take(1, _on_every_block(), _pairs_config(batch_size=24))
    compared = batch['is_compared']
    self.assertTrue(np.diagonal(compared).all())
    names = 'title_ids', 'body_ids'
    blocks = np.concatenate([batch[name] for name in names], axis=1)
    is_same = (blocks == blocks[0]).all(axis=1)
    self.assertEqual(is_same.sum(), 2)
    self.assertEqual(compared[0, is_same].tolist(), [True, False])

  def test_another_block_with_the_answer_is_no_negative(self):
    # A third of the blocks has an a, a third a c, and a third an e.
    (batch,) = _take(1, _on_every_block('a'), _pairs_config(batch_size=12))
    words = [_words(row)[0] for row in batch['body_ids']]
    expected = [
      [i == j or words[i] != words[j] for j in range(12)] for i in range(12)
    ]
    self.assertEqual(batch['is_compared'].tolist(), expected)
    self.assertEqual(batch['is_compared'].sum(axis=1).tolist(), [9] * 12)

  def test_left_over_questions_are_dealt_in_groups_of_several_titles(self):
    # Groups of 4 leave over 1 + 0 + 3 of the titles' 5, 4 and 3 questions.
    batches = _take(
      3, _on_every_block('a'), _pairs_config(questions_of_title=4)
    )
    titles = [sorted(map(_words, batch['title_ids'])) for batch in batches]
    self.assertCountEqual(titles, [['a'] * 4, ['b'] * 4, ['a', 'c', 'c', 'c']])


if __name__ == '__main__':
  absltest.main()
