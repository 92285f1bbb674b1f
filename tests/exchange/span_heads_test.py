"""Tests for readers of SQuAD from Hugging Face: names, heads and kinds."""

import os

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.exchange import hugging_face
from realm_tf.exchange import span_heads
from realm_tf.model import bert
from realm_tf.model import realm_model
from realm_tf.model import weights
from realm_tf.text import vocabulary
from tests.exchange import small_bert

_PIECES = [*vocabulary.SPECIALS, *'abcdefghijklmnopqrstuvwxyz', '.', '?']
_PIECES += [f'##{letter}' for letter in 'abcdefghijklmnopqrstuvwxyz']
_PIECES += [str(digit) for digit in range(10)]
_PIECES += [f'##{digit}' for digit in range(10)]
_BERT = small_bert.CONFIG | {
  'architectures': ['BertForQuestionAnswering'],
  'vocab_size': len(_PIECES),
  'max_position_embeddings': 200,
}
_DISTILBERT = {
  'architectures': ['DistilBertForQuestionAnswering'],
  'model_type': 'distilbert',
  'activation': 'gelu',
  'dim': 6,
  'n_layers': 2,
  'n_heads': 2,
  'hidden_dim': 10,
  'vocab_size': len(_PIECES),
  'max_position_embeddings': 200,
}
_ELECTRA = {
  **_BERT,
  'architectures': ['ElectraForQuestionAnswering'],
  'model_type': 'electra',
  'embedding_size': 6,
}
# BERT's name -> DistilBERT's, in this order.
_NAMES = {
  'encoder.layer.': 'transformer.layer.',
  'attention.self.query': 'attention.q_lin',
  'attention.self.key': 'attention.k_lin',
  'attention.self.value': 'attention.v_lin',
  'attention.output.dense': 'attention.out_lin',
  'attention.output.LayerNorm': 'sa_layer_norm',
  'intermediate.dense': 'ffn.lin1',
  '.output.dense': '.ffn.lin2',
  '.output.LayerNorm': '.output_layer_norm',
}


def _as_distilbert(name):
  for ours, theirs in _NAMES.items():
    name = name.replace(ours, theirs)
  return f'distilbert.{name}'


class SpanHeadsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    rng = np.random.default_rng(0)
    arrays = small_bert.random_weights(_BERT, rng)
    self.encoder = {
      n: array for n, array in arrays.items() if not n.startswith('pooler')
    }
    self.head = {
      'qa_outputs.weight': rng.normal(size=[2, 6]).astype(np.float32),
      'qa_outputs.bias': rng.normal(size=[2]).astype(np.float32),
    }

  def _write(self, config, encoder, **head):
    arrays = {**encoder, **self.head, **head}
    small_bert.write(self.directory, config, arrays, _PIECES)

  def _logits(self, encoder, ids, types):
    """Returns start and end logits of one pair, [L, 2], of a plain BERT."""
    directory = self.create_tempdir().full_path
    config = {**_BERT, 'architectures': ['BertModel']}
    small_bert.write(directory, config, encoder)
    found = hugging_face.read(directory)
    plain = bert.build_encoder(found.model.reader_bert, 'reader_bert')
    weights.assign(plain.variables, found.arrays)
    tokens = {
      'input_word_ids': ids,
      'input_mask': np.ones_like(ids),
      'input_type_ids': types,
    }
    states = plain(tokens)['sequence_output'][0].numpy()
    head = self.head
    return states @ head['qa_outputs.weight'].T + head['qa_outputs.bias']

  def _check_scores(self, encoder, types):
    found = hugging_face.load(self.directory)
    self.assertEqual(found.model.max_span_width, 30)
    model = realm_model.RealmModel(found.model, [realm_model.SPAN])
    self.assertEmpty(
      [n for n in model.load(found.arrays).missing if 'pooler' not in n]
    )
    ids = np.array([[2, 7, 9, 3, 11, 6, 8, 12, 3]])  # [CLS] q [SEP] body [SEP]
    segments = np.array([[0, 0, 0, 0, 1, 1, 1, 1, 1]])
    scores = model.span_reader(
      {
        'input_word_ids': tf.constant(ids[:, None], tf.int32),
        'input_mask': tf.ones([1, 1, 9], tf.int32),
        'input_type_ids': tf.constant(segments[:, None], tf.int32),
      },
      4,
    )
    logits = self._logits(encoder, ids, types * segments)
    expected = np.full([4, 30], -np.inf)
    for s in range(4):
      for w in range(4 - s):
        expected[s, w] = logits[4 + s, 0] + logits[4 + s + w, 1]
    null = logits[0].sum()
    if found.model.span_head == 'linear_null':
      everything = np.logaddexp.reduce([*expected.ravel(), null])
      expected, null = expected - everything, null - everything
    exists = np.isfinite(expected)
    np.testing.assert_array_equal(
      interfaces.has_score(scores.spans[0, 0]), exists
    )
    np.testing.assert_allclose(
      scores.spans[0, 0].numpy()[exists], expected[exists], atol=2e-5
    )
    if found.model.span_head == 'linear_null':
      np.testing.assert_allclose(scores.null[0, 0], null, atol=2e-5)
    return found

  @parameterized.parameters(('bert.', _BERT), ('electra.', _ELECTRA))
  def test_a_reader_scores_by_the_states_of_bert(self, prefix, config):
    self._write(config, {prefix + n: a for n, a in self.encoder.items()})
    self._check_scores(self.encoder, types=1)

  def test_a_distilbert_has_no_types(self):
    types = 'embeddings.token_type_embeddings.weight'
    encoder = {
      _as_distilbert(name): array
      for name, array in self.encoder.items()
      if name != types
    }
    self._write(_DISTILBERT, encoder)
    self.encoder[types] = np.zeros([2, 6], np.float32)
    self._check_scores(self.encoder, types=0)

  def test_a_head_that_finds_no_answer_elsewhere_has_a_null(self):
    # A bias alone decides where states are equal: all norms give 0.
    equal = {
      n: array * np.float32('LayerNorm' not in n)
      for n, array in self.encoder.items()
    }
    self._write(_BERT, equal)
    found = hugging_face.load(self.directory)
    # All scores are equal: the null is not above the best span.
    self.assertEqual(found.model.span_head, 'linear')
    self.assertFalse(found.finetuning.null_spans)
    self.assertIn('no answer in 0 of 56', found.notes[0])

  def test_a_null_above_all_spans_is_a_null(self):
    # [CLS] alone has a positive first state, and the head reads that state.
    encoder = {n: np.zeros_like(array) for n, array in self.encoder.items()}
    for name in encoder:
      if name.endswith('LayerNorm.weight'):
        encoder[name] += 1
    table = encoder['embeddings.word_embeddings.weight']
    table[:, 1], table[2, 0], table[2, 1] = 1, 1, 0
    head = np.zeros([2, 6], np.float32)
    head[:, 0] = 5
    self._write(_BERT, encoder, **{'qa_outputs.weight': head})
    found = hugging_face.load(self.directory)
    self.assertEqual(found.model.span_head, 'linear_null')
    self.assertTrue(found.finetuning.null_spans)
    self.assertIn('no answer in 56 of 56', found.notes[0])

  def test_other_networks_and_heads_are_mistakes(self):
    labels = {'qa_outputs.weight': np.zeros([3, 6], np.float32)}
    for config, head, message in (
      (_BERT, labels, 'linear/.* Found .*3'),
      (_ELECTRA | {'embedding_size': 3}, {}, 'embedding_size 3'),
      *(
        (
          _BERT | {'model_type': kind},
          {},
          f'Found a {kind} .*deepset/minilm-uncased-squad2',
        )
        for kind in ('roberta', 'mobilebert', 'deberta-v2', 'dpr')
      ),
    ):
      self._write(config, self.encoder, **head)
      with self.assertRaisesRegex(errors.UserError, message):
        hugging_face.load(self.directory)

  def test_without_a_vocabulary_no_kind_is_told(self):
    self._write(_BERT, self.encoder)
    os.remove(os.path.join(self.directory, 'vocab.txt'))
    with self.assertRaisesRegex(errors.UserError, 'must have the vocabulary'):
      span_heads.resolve(hugging_face.read(self.directory))


if __name__ == '__main__':
  absltest.main()
