"""Tests that imported models compute what Hugging Face's REALM computes.

tests/testdata/transformers_realm.json holds outputs and gradients that
transformers 4.57.6 computed, in float64, of the weights and inputs of
realm_weights.py (`tests/parity/peer_realm.py` writes it). Agreement is 1e-4
relative to an array's largest value.
"""

import json
import os
import pathlib

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.importing import hugging_face
from realm_tf.importing import hugging_face_names
from realm_tf.importing import imported
from realm_tf.importing import tf1_checkpoint
from realm_tf.modeling import realm_model
from realm_tf.modeling import weights
from realm_tf.objectives import marginal_likelihood
from realm_tf.objectives import span_likelihood
from tests.importing import tf1_release
from tests.parity import realm_weights

_FILE = (
  pathlib.Path(__file__).parent.parent / 'testdata' / 'transformers_realm.json'
)
_AGREEMENT = 1e-4
# Zero but for rounding: it adds the same to all that a softmax compares.
_CANCELS = ('key/bias', 'span_reader/layer_norm/beta', 'span_reader/score/bias')


def _tokens(arrays):
  return {
    'input_word_ids': arrays['input_ids'],
    'input_mask': arrays['attention_mask'],
    'input_type_ids': arrays['token_type_ids'],
  }


class ParityTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.expected = {
      name: np.array(array['values'], array['dtype'])
      for name, array in json.loads(_FILE.read_text()).items()
    }

  def _import(self, architecture, values, part):
    """Returns the model of a directory with these weights."""
    directory = self.create_tempdir().full_path
    with open(os.path.join(directory, 'config.json'), 'w') as file:
      config = {**realm_weights.CONFIG, 'architectures': [architecture]}
      json.dump(config, file)
    weights.write_arrays(values, os.path.join(directory, 'model.safetensors'))
    found = hugging_face.read(directory)
    model = realm_model.RealmModel(found.model, [part])
    self.assertEmpty(model.load(found.arrays).missing)
    return model

  def _assert_close(self, ours, name):
    expected = self.expected[name]
    self.assertAllClose(
      ours, expected, rtol=0, atol=_AGREEMENT * np.abs(expected).max()
    )

  def _assert_gradients(self, tape, loss, model, part, architecture):
    begin = f'{part}.grad.'
    theirs, report = hugging_face_names.convert(
      {
        name.removeprefix(begin): value
        for name, value in self.expected.items()
        if name.startswith(begin)
      },
      model.config.reader_bert,
      hugging_face_names.ROLES[architecture],
    )
    self.assertEmpty(report.left_over)
    named = weights.by_name(model.variables)
    ours = tape.gradient(loss, {name: named[name] for name in theirs})
    largest = max(np.abs(value).max() for value in theirs.values())
    for name, value in theirs.items():
      scale = largest if name.endswith(_CANCELS) else np.abs(value).max()
      self.assertAllClose(
        tf.convert_to_tensor(ours[name]),
        value,
        rtol=0,
        atol=_AGREEMENT * scale,
        msg=name,
      )

  def test_embedder(self):
    model = self._import(
      'RealmEmbedder', realm_weights.embedder(0), realm_model.EMBEDDER
    )
    with tf.GradientTape() as tape:
      projected = model.query_embedder(_tokens(realm_weights.tokens(1, 3, 9)))
      loss = tf.reduce_sum(projected**2)
    self._assert_close(projected, 'embedder.projected_score')
    self._assert_gradients(tape, loss, model, 'embedder', 'RealmEmbedder')

  def test_knowledge_encoder_and_the_loss_per_token(self):
    model = self._import(
      'RealmKnowledgeAugEncoder',
      realm_weights.knowledge_encoder(2),
      realm_model.MASKED_LM,
    )
    scores = tf.constant(self.expected['encoder.scores'], tf.float32)
    # Tokens 1 and 3 of the first query, token 2 of the second, and padding.
    positions = np.array([[1, 3], [2, 0]], np.int32)
    gold = np.array([[7, 11], [20, 0]], np.int32)
    mask = np.array([[1, 1], [1, 0]], np.float32)
    with tf.GradientTape(persistent=True) as tape:
      tape.watch(scores)
      log_probs = model.knowledge_encoder(
        _tokens(realm_weights.tokens(3, 2, 3, 14)), positions, gold
      )
      by_token = marginal_likelihood.per_token_log_likelihood(
        scores, log_probs, mask
      )
      loss = -tf.reduce_sum(by_token) / 3
    self._assert_close(loss, 'encoder.loss')
    self._assert_close(tape.gradient(loss, scores), 'encoder.scores_grad')
    self._assert_gradients(
      tape, loss, model, 'encoder', 'RealmKnowledgeAugEncoder'
    )

  def test_span_reader_and_both_losses(self):
    model = self._import(
      'RealmReader', realm_weights.reader(4), realm_model.SPAN
    )
    joint = {
      name: value[None, :2]
      for name, value in _tokens(realm_weights.tokens(5, 4, 16)).items()
    }
    scores = tf.constant(self.expected['reader.scores'][None], tf.float32)
    is_answer = np.zeros([1, 2, 9, 3], bool)
    # Bodies begin at wordpiece 6: the spans [7, 8] and [10, 10] of block 0.
    is_answer[0, 0, 1, 1] = is_answer[0, 0, 4, 0] = True
    with tf.GradientTape() as tape:
      spans = model.span_reader(joint, 9) + scores[:, :2, None, None]
      retriever = -span_likelihood.early_update_log_likelihood(
        scores, self.expected['reader.has_answer'][None]
      )
      reader = -span_likelihood.span_log_likelihood(
        tf.reshape(spans, [1, -1]), is_answer.reshape(1, -1)
      )
      loss = retriever + reader
    self._assert_close(retriever[0], 'reader.retriever_loss')
    self._assert_close(reader[0], 'reader.reader_loss')
    best = np.unravel_index(np.argmax(spans), spans.shape)
    self.assertEqual(best[1], self.expected['reader.block_idx'])
    start = best[2] + 6
    self.assertEqual([start], self.expected['reader.start_pos'])
    self.assertEqual([start + best[3]], self.expected['reader.end_pos'])
    self._assert_gradients(tape, loss, model, 'reader', 'RealmReader')

  @parameterized.parameters(*tf1_release.EMBEDDERS)
  def test_the_releases_embedder_is_the_same_function(self, kind):
    theirs = realm_weights.embedder(0)
    head, norm, below = tf1_release.EMBEDDERS[kind]
    values = {
      f'{head}dense/kernel': theirs['cls.dense.weight'].T,
      f'{head}dense/bias': theirs['cls.dense.bias'],
      f'{head}{norm}/gamma': theirs['cls.LayerNorm.weight'],
      f'{head}{norm}/beta': theirs['cls.LayerNorm.bias'],
      **tf1_release.named(theirs, 'realm.', below),
    }
    prefix = os.path.join(self.create_tempdir().full_path, 'variables')
    found = tf1_checkpoint.load(
      tf1_release.save(prefix, values), imported.Given(num_heads=2)
    )
    model = realm_model.RealmModel(found.model, [realm_model.EMBEDDER])
    self.assertEmpty(model.load(found.arrays).missing)
    self._assert_close(
      model.query_embedder(_tokens(realm_weights.tokens(1, 3, 9))),
      'embedder.projected_score',
    )


if __name__ == '__main__':
  tf.test.main()
