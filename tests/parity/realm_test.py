"""Tests that imported networks compute what Hugging Face's REALM computes."""

import os

from absl.testing import parameterized
import tensorflow as tf

from realm_tf.exchange import imported
from realm_tf.exchange import tf1_checkpoint
from realm_tf.model import objectives
from realm_tf.model import realm_model
from tests.exchange import tf1_release
from tests.parity import peer_outputs
from tests.parity import realm_weights


class RealmTest(peer_outputs.PeerTestCase):
  def test_embedder(self):
    model = self.import_model(
      'RealmEmbedder', realm_weights.embedder(0), realm_model.EMBEDDER
    )
    tokens = peer_outputs.tokens(realm_weights.tokens(1, 3, 9))
    with tf.GradientTape() as tape:
      projected = model.query_embedder(tokens)
      loss = tf.reduce_sum(projected**2)
    self.assert_same('embedder', {'projected_score': projected})
    self.assert_same_gradients('embedder', 'RealmEmbedder', model, tape, loss)

  def test_scorer_and_knowledge_encoder_with_the_loss_per_token(self):
    scorer = self.import_model(
      'RealmScorer', realm_weights.scorer(9), realm_model.EMBEDDER
    )
    encoder = self.import_model(
      'RealmKnowledgeAugEncoder',
      realm_weights.knowledge_encoder(2),
      realm_model.MASKED_LM,
    )
    is_masked = realm_weights.IS_MASKED
    query_tokens, block_tokens, joint_tokens = (
      peer_outputs.tokens(realm_weights.tokens(*arguments))
      for arguments in ((8, 2, 9), (9, 2, 3, 12), (3, 2, 3, 14))
    )
    with tf.GradientTape(persistent=True) as tape:
      queries = scorer.embed_queries(query_tokens)
      blocks = scorer.embed_blocks(block_tokens)
      scores = tf.linalg.matvec(blocks, queries)
      log_probs = encoder.knowledge_encoder(
        joint_tokens,
        realm_weights.MASKED_POSITIONS,
        realm_weights.MASKED_TOKENS,
      )
      by_token = objectives.per_token_log_likelihood(
        scores, log_probs, is_masked
      )
      loss = -tf.reduce_sum(by_token) / is_masked.sum()
    self.assert_same(
      'scorer',
      {
        'query_score': queries,
        'candidate_score': blocks,
        'relevance_score': scores,
      },
    )
    self.assert_same(
      'joint',
      {
        'log_probs': log_probs * is_masked[:, None],
        'p_z': tf.nn.softmax(scores),
        'loss': loss,
        'scores.grad': tape.gradient(loss, scores),
      },
    )
    self.assert_same_gradients(
      'encoder', 'RealmKnowledgeAugEncoder', encoder, tape, loss
    )
    # Scores' gradients sum to zero over a query's blocks, which costs digits.
    # So the towers are also compared from the peer's gradient of the scores.
    upstream = self.expected['joint.scores.grad']
    for goal, gradient in ((loss, None), (scores, upstream)):
      self.assert_same_gradients(
        'scorer', 'RealmScorer', scorer, tape, goal, upstream=gradient
      )

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
    tokens = peer_outputs.tokens(realm_weights.tokens(1, 3, 9))
    projected = model.query_embedder(tokens)
    self.assert_same('embedder', {'projected_score': projected})


if __name__ == '__main__':
  tf.test.main()
