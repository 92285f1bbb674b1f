"""Tests for realm_tf.exchange.{model_writing,hugging_face}."""

import json
import os
import pathlib

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.data import block_table
from realm_tf.exchange import hugging_face
from realm_tf.exchange import imported
from realm_tf.exchange import model_writing
from realm_tf.exchange import tf1_checkpoint
from realm_tf.index import storage
from realm_tf.qa import loading
from realm_tf.run import layout
from realm_tf.run import versions
from tests import tiny
from tests.exchange import small_bert
from tests.exchange import tf1_release

_TEXTS = ['A b. C d.', 'E f.', 'a', '', 'E f.', 'C d e f. A.']  # One twice.
_REALM = {
  **tf1_release.CONFIG,
  'model_type': 'realm',
  'retriever_proj_size': tf1_release.WIDTH,
  'span_hidden_size': tf1_release.SPAN,
  'reader_beam_size': 2,
  'reader_seq_len': 16,
  'searcher_beam_size': 3,
}


class ModelWritingTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.rng = np.random.default_rng(0)
    self.output_dir = self._path('model')
    self.vocab_file = self._path('vocab.txt')
    pieces = '\n'.join(tiny.TOKENIZER.vocabulary) + '\n'
    pathlib.Path(self.vocab_file).write_text(pieces)
    size = len(_TEXTS), tf1_release.WIDTH
    self.rows = self.rng.normal(size=size).astype(np.float32)

  def _path(self, name):
    return os.path.join(self.directory, name)

  def _given(self):
    return imported.Given(
      self.vocab_file,
      tf1_release.write_blocks(self._path('blocks.tfr'), _TEXTS),
      tf1_release.NUM_HEADS,
    )

  def _release(self, rows=None):
    """Writes a QA model in the release's format; returns it imported."""
    tuned = tf1_release.embedder(self.rng, 'fine_tuned')
    prefixes = [
      tf1_release.save(self._path(name), values)
      for name, values in (
        ('qa/model.ckpt-7', {**tuned, **tf1_release.qa_reader(self.rng)}),
        ('embedder/variables', tf1_release.embedder(self.rng)),
        ('encoded.ckpt', {'block_emb': self.rows if rows is None else rows}),
      )
    ]
    return tf1_checkpoint.load(','.join(prefixes), self._given())

  def _hugging_face(self, architecture='RealmForOpenQA', **more):
    """Writes the tensors of a TF1 model under Hugging Face's names."""
    directory = self._path(architecture)
    config = {**_REALM, 'architectures': [architecture]}
    prefix = 'embedder.' if architecture == 'RealmForOpenQA' else ''
    cls = f'{prefix}cls.'
    sizes = small_bert.linear(f'{cls}dense', 6, 4)
    sizes |= small_bert.norm(f'{cls}LayerNorm', 4)
    values = {
      name: self.rng.normal(size=size).astype(np.float32)
      for name, size in sizes.items()
    }
    values |= self._bert(prefix + 'realm.')
    if prefix:
      values |= self._bert('reader.realm.')
    small_bert.write(directory, config, {**values, **more})
    return directory

  def _bert(self, prefix):
    theirs, _ = tf1_release.bert(self.rng)
    return {prefix + name: value for name, value in theirs.items()}

  def _assert_refused(self, found, message, **arguments):
    with self.assertRaisesRegex(errors.UserError, message):
      model_writing.write(found, self.output_dir, **arguments)

  def test_a_released_model_answers_and_its_index_has_rows_of_blocks(self):
    titles = ['A', 'A', 'b', 'c', 'c', 'A']
    tf1_release.write_blocks(self._path('titles.tfr'), titles)
    model_writing.write(self._release(), self.output_dir)
    table = block_table.BlockTable.open(self.output_dir + '/corpus')
    self.assertEqual(table.texts(range(len(_TEXTS))), _TEXTS)
    self.assertEqual(table.titles(range(len(titles))), titles)
    np.testing.assert_array_equal(table.article_rows, [0, 0, 1, 2, 2, 3])
    index = storage.load(
      versions.newest(layout.index_root(self.output_dir)).path,
      table.manifest['corpus_fingerprint'],
    )
    np.testing.assert_array_equal(np.asarray(index.embeddings), self.rows)
    answerer = loading.load_answerer(self.output_dir, table.corpus_dir)
    (answer,) = answerer.answer(['c d?'])
    self.assertIsNotNone(answerer.reader)
    for item in answer.evidence:
      self.assertEqual(item.text, _TEXTS[item.block_id])
      self.assertEqual(item.text[item.start : item.end], item.answer)

  def test_a_separate_embedder_of_blocks_is_used(self):
    qa = self._hugging_face(block_emb=self.rows)
    both = f'{qa},{self._hugging_face("RealmEmbedder")}'
    found = hugging_face.load(both, self._given())
    self.assertEmpty(found.notes)
    self.assertFalse(found.model.embedder.shared_towers)
    names = {name.split('/')[0] for name in found.arrays}
    self.assertContainsSubset(
      {'query_bert', 'block_bert', 'query_embedder', 'block_embedder'}, names
    )
    model_writing.write(found, self.output_dir)
    loading.load(self.output_dir, self.output_dir + '/corpus')

  def test_weights_alone_make_a_model_directory(self):
    found = self._release()._replace(blocks_file=None)
    written = model_writing.write(found, self.output_dir)
    self.assertEqual(
      written, [os.path.join(self.output_dir, 'params', '000000000')]
    )

  def test_refuses_other_numbers_of_rows_and_blocks(self):
    self._assert_refused(self._release(self.rows[1:]), '5 rows and 6 blocks')
    self.assertFalse(os.path.exists(self.output_dir + '/corpus'))
    found = self._release()._replace(blocks_file=None)
    corpus_dir = tiny.write_corpus(self.directory)
    self._assert_refused(found, '6 rows and 4 blocks', corpus_dir=corpus_dir)

  def test_refuses_rows_or_words_that_do_not_fit_the_weights(self):
    narrow = self._release(self.rows[:, 1:])
    self._assert_refused(narrow, r'embedder, 4. Found shape .\d+, 3.')
    with open(self.vocab_file, 'a') as file:
      file.write('g\n')
    self._assert_refused(narrow, '12 word embeddings and 13 lines')
    nothing = narrow._replace(vocab_file=None)
    self._assert_refused(nothing, 'Give it as --vocab_file')

  def test_refuses_cut_off_blocks_and_writes_no_corpus(self):
    found = self._release()
    with open(self._path('blocks.tfr'), 'r+b') as file:
      file.truncate(60)
    self._assert_refused(found, 'must be a whole TFRecord file')
    self.assertFalse(os.path.exists(self.output_dir + '/corpus'))

  def test_refuses_fewer_titles_than_blocks(self):
    tf1_release.write_blocks(self._path('titles.tfr'), ['A'])
    self._assert_refused(self._release(), 'one title for each block')

  def test_pickled_weights_are_refused(self):
    directory = self._hugging_face()
    model = pathlib.Path(directory, 'model.safetensors')
    model.rename(model.with_name('pytorch_model.bin'))
    with self.assertRaisesRegex(errors.UserError, 'save_pretrained'):
      hugging_face.load(directory)

  def test_weights_in_several_files_are_read(self):
    directory = self._hugging_face(block_emb=self.rows)
    whole = hugging_face.load(directory)
    self.assertIn('block_emb', whole.report.used)
    self.assertEqual(whole.finetuning.num_read, 2)
    self.assertNotEmpty(whole.notes)  # Embed_doc is missing.
    model = pathlib.Path(directory, 'model.safetensors')
    part = model.rename(model.with_name('model-00001.safetensors')).name
    index = {'weight_map': dict.fromkeys(whole.report.used, part)}
    model.with_suffix('.safetensors.index.json').write_text(json.dumps(index))
    parts = hugging_face.load(directory)
    self.assertEqual(whole.report, parts.report)
    np.testing.assert_array_equal(parts.embeddings[0:6], self.rows)


if __name__ == '__main__':
  absltest.main()
