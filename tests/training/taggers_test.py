"""Tests for realm_tf.training.taggers."""

import itertools
import os
import tempfile
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.corpus import conll
from realm_tf.corpus import sources
from realm_tf.corpus import terms
from realm_tf.data import block_table
from realm_tf.model import realm_model
from realm_tf.model import weights
from realm_tf.training import job
from realm_tf.training import taggers
from tests import fakes
from tests import tiny
from tests.training import killed


class MakeTest(parameterized.TestCase):
  @parameterized.parameters(
    ('rules', ['Ada Lund']),
    ('terms', ['steel hull']),
    ('rules+terms', ['Ada Lund']),
  )
  def test_terms_alone_and_without_names(self, spec, expected):
    text = 'Her steel hull was built by Ada Lund.'
    # 36 words: ln(2/36 / (2/36 * 2/36)) = ln 18 = 2.9, a phrase.
    others = [f'x{i} y{i}' for i in range(15)]
    articles = [[text] for text in ['a steel hull', 'steel hull b', *others]]
    tagger = taggers.make(spec, find_terms=lambda: terms.find(articles))
    (found,) = tagger.tag([text])
    self.assertCountEqual([text[a:b] for a, b in found], expected)

  def test_terms_of_a_large_corpus_are_from_a_part_of_its_articles(self):
    corpus = self.create_tempdir().full_path + '/corpus'
    articles = [
      sources.Article('', text, str(i))
      for i, text in enumerate(['A b. C d.', 'C d. E.', 'A b.', 'E. C d.'])
    ]
    tiny.write_blocks(tiny.cut(articles, max_block_wordpieces=8), corpus)
    table = block_table.BlockTable.open(corpus)
    self.assertEqual(taggers.terms_of(table).words, ['a', 'b', 'c', 'd', 'e'])
    with mock.patch.object(taggers, '_MOST_WORDPIECES', 15):
      self.assertEqual(taggers.terms_of(table).words, ['a', 'b'])

  def test_a_missing_model_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, 'bin.train_tagger'):
      taggers.make('bert:/no/such')

  @parameterized.parameters(
    '', *'rule spacy spacy: rules:x bert bert: terms:x +terms'.split()
  )
  def test_unknown_tagger_is_a_user_error(self, spec):
    with self.assertRaisesRegex(errors.UserError, "'rules', 'spacy:NAME'"):
      taggers.make(spec)


_VOCABULARY = 'the rain saw li zo ##e bern , . 4 july'
_NAMES = {'li': 'PER', 'zoe': 'PER', 'Rose': 'PER', 'bern': 'LOC'}


def _sentence(words):
  entities = (
    conll.Entity(i, i + 1, _NAMES[word])
    for i, word in enumerate(words)
    if word in _NAMES
  )
  return conll.LabeledSentence(words, tuple(entities))


def _sentences():
  """Returns every order of three words; each name has one type."""
  words = ['the', 'rain', 'saw', 'li', 'zoe', 'bern', ',']
  return [*map(_sentence, itertools.permutations(words, 3))]


def _config():
  bert = tiny.bert(hidden_size=16, intermediate_size=16, max_positions=24)
  return config_lib.ExperimentConfig(
    model=config_lib.ModelConfig(embedder_bert=bert, reader_bert=bert),
    tagger=config_lib.TaggerConfig(
      config_lib.OptimizerConfig(3e-2, 60, warmup_steps=5),
      batch_size=16,
      max_tokens=24,
    ),
  )


class BertTaggerTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.tokenizer = fakes.tokenizer(_VOCABULARY)
    folder = cls.enter_context(tempfile.TemporaryDirectory())
    cls.vocab_file = os.path.join(folder, 'vocab.txt')
    with open(cls.vocab_file, 'w') as file:
      file.write('\n'.join(cls.tokenizer.vocabulary) + '\n')
    cls.directory = os.path.join(folder, 'tagger')
    taggers.run(
      _config(), _sentences(), job.Job(cls.directory), vocab_file=cls.vocab_file
    )

  def test_a_killed_run_resumes_to_the_same_result(self):
    changes = {
      'optimizer': config_lib.OptimizerConfig(3e-2, killed.STEPS),
      'checkpoint_every_steps': killed.CHECKPOINT_EVERY,
      'log_every_steps': 1,
    }
    folder = self.create_tempdir().full_path

    def run(name, resume):
      run_dir = os.path.join(folder, name)
      taggers.run(
        tiny.changed(_config(), tagger=changes),
        _sentences(),
        job.Job(run_dir, resume=resume),
        vocab_file=self.vocab_file,
      )
      return run_dir

    killed.check_resume(self, taggers.TaggerTrainer, run)
    with self.assertRaisesRegex(errors.UserError, '--resume'):
      run('killed', False)

  def test_learns_names_and_scores_them_by_entity(self):
    scores = taggers.evaluate(self.directory, _sentences())
    self.assertSequenceAlmostEqual(scores, [100.0] * 3)
    self.assertTrue(os.path.exists(self.directory + '/metrics.json'))

  def test_finds_entities_of_running_text_in_characters(self):
    tagger = taggers.load(self.directory)
    texts = ['the rain saw Zoe, Li.', '', 'Bern saw the rain', 'saw'] * 3
    found = tagger.entities(texts)
    for text, entities in zip(texts, found, strict=True):
      self.assertEqual(
        [(text[e.start : e.end], e.type) for e in entities],
        [
          (word, _NAMES[word.lower()])
          for word in text.replace(',', '').replace('.', '').split()
          if word.lower() in _NAMES
        ],
      )

  def test_tags_dates_too(self):
    (spans,) = taggers.make(f'bert:{self.directory}').tag(['li saw 4 July'])
    self.assertEqual(spans, [(0, 2), (7, 13)])

  def test_words_beyond_the_maximum_length_are_in_no_entity(self):
    tagger = taggers.BertTagger(  # Every word is an entity.
      lambda tokens: tf.one_hot(tf.ones_like(tokens['input_word_ids']), 3),
      self.tokenizer,
      ['O', 'B-X', 'I-X'],
      max_tokens=6,
      batch_size=2,
    )
    text = 'Zoe saw the rain, Bern'
    (entities,) = tagger.entities([text])
    # Six wordpieces: [CLS], [SEP], 'zo ##e' and two others.
    self.assertEqual(
      [text[e.start : e.end] for e in entities], ['Zoe', 'saw', 'the']
    )


class TokenTaggerTest(parameterized.TestCase):
  @parameterized.parameters(
    (realm_model.MASKED_LM, 'reader_'), (realm_model.EMBEDDER, 'query_')
  )
  def test_starts_from_the_bert_of_a_model(self, part, tower):
    config = realm_model.with_vocab_size(tiny.config().model, 12)
    model = realm_model.RealmModel(config, [part])
    tagger = taggers.TokenTagger(config.reader_bert, 3)
    arrays = weights.values(model.variables)
    report = tagger.load(arrays)
    head = ['tagger_head/bias', 'tagger_head/kernel']
    self.assertEqual(report.missing, head)
    for name, value in weights.values(tagger.variables).items():
      if name not in head:
        theirs = arrays[name.replace('tagger_', tower)]
        np.testing.assert_array_equal(value, theirs)


class TokenLabelsTest(absltest.TestCase):
  def test_decode_inverts_encode(self):
    tokenizer = fakes.tokenizer(_VOCABULARY)
    sentence = conll.LabeledSentence(
      ('Zoe', 'Li', 'saw', 'Bern'),
      (conll.Entity(0, 2, 'PER'), conll.Entity(3, 4, 'LOC')),
    )
    names = taggers.label_names([sentence])
    self.assertEqual(names, ['O', 'B-LOC', 'I-LOC', 'B-PER', 'I-PER'])
    tokens = tokenizer.tokenize(sentence.text)
    labels = taggers.encode(sentence, tokens, tokenizer, names)
    # Only the first piece of 'Zoe', 'zo ##e', has a label.
    np.testing.assert_array_equal(labels, [3, -1, 4, 0, 1])
    is_start = tokenizer.word_starts(tokens)
    entities = taggers.decode(
      tokens, is_start, [names[i] for i in labels[is_start]]
    )
    self.assertEqual(entities, [(0, 6, 'PER'), (11, 15, 'LOC')])

  def test_batches_have_one_width_and_repeat(self):
    tokenizer = fakes.tokenizer(_VOCABULARY)
    config = tiny.changed(_config(), tagger={'max_tokens': 10})
    long = conll.LabeledSentence(('rain',) * 30, ())
    sentences = [long, *_sentences()[:5]]
    names = taggers.label_names(sentences)
    one, two = (
      next(taggers.batches(sentences, tokenizer, names, experiment=config))
      for _ in range(2)
    )
    self.assertEqual(one['ids'].shape, (16, 8))
    for name, values in one.items():
      np.testing.assert_array_equal(values, two[name])
    goes_on = one['ids'] == tokenizer.vocabulary.index('##e')
    np.testing.assert_array_equal(
      (one['ids'] == 0) | goes_on, one['label_ids'] == taggers.NO_LABEL
    )


if __name__ == '__main__':
  absltest.main()
