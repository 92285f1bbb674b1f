"""Compares the embedder, the scorer, the reader's encoder, and all together."""

import os

import numpy as np
import tensorflow as tf

from realm_tf.importing import hugging_face
from realm_tf.importing import hugging_face_names
from realm_tf.modeling import realm_model
from realm_tf.modeling import weights
from realm_tf.objectives import marginal_likelihood
from tests.parity import peer_arrays

_ENCODER = 'knowledge_aug_encoder'
SCORER_GRADIENTS = 'grads_scorer_two_tower'
FROM_SCORES = ' from their relevance_grad'  # Behind the names of such cases.


def _values(model):
  return {n: v.numpy() for n, v in weights.by_name(model.variables).items()}


def embedder(root: str) -> peer_arrays.Folder:
  """Compares one tower; their gradients are of the sum of squares."""
  folder = peer_arrays.Folder(root, 'embedder')
  model = peer_arrays.read_model(root, 'embedder', realm_model.EMBEDDER)
  inputs = peer_arrays.tokens(folder.arrays('inputs'))
  with tf.GradientTape() as tape:
    projected = model.query_embedder(inputs)
    loss = tf.reduce_sum(projected**2)
  folder.compare(
    'outputs',
    {
      'projected_score': projected,
      **peer_arrays.states(
        model.config.embedder_bert, _values(model), 'shared', inputs
      ),
    },
  )
  roles = hugging_face_names.ROLES['RealmEmbedder']
  gradients = peer_arrays.gradients(tape, loss, model)
  folder.compare_gradients('grads', gradients, model, roles)
  return folder


class _Scorer:
  """Two towers, from weights that are there as arrays only."""

  def __init__(self, root):
    self.folder = peer_arrays.Folder(root, 'scorer_two_tower')
    directory = os.path.join(root, 'hugging_face', 'embedder')
    config = hugging_face.read(directory).model
    config = realm_model.separate_towers(config)
    self.arrays, _ = hugging_face_names.convert(
      self.folder.arrays('weights'),
      config.embedder_bert,
      hugging_face_names.ROLES['RealmScorer'],
    )
    self.model = peer_arrays.load_model(
      config, [realm_model.EMBEDDER], self.arrays
    )
    inputs = self.folder.arrays('inputs')
    self.queries = peer_arrays.tokens(inputs)
    self.blocks = peer_arrays.tokens(inputs, 'candidate_')

  def __call__(self):
    """Returns embeddings of queries and of blocks, and f(x,z)."""
    queries = self.model.embed_queries(self.queries)  # [B, D]
    blocks = self.model.block_embedder(self.blocks)  # [B, K, D]
    return queries, blocks, tf.einsum('bd,bkd->bk', queries, blocks)


def scorer(root: str) -> peer_arrays.Folder:
  """Compares f(x,z) of two towers."""
  ours = _Scorer(root)
  queries, blocks, scores = ours()
  config = ours.model.config.embedder_bert
  ours.folder.compare(
    'outputs',
    {
      'query_score': queries,
      'candidate_score': blocks,
      'relevance_score': scores,
      **peer_arrays.states(
        config, ours.arrays, 'query', ours.queries, 'query_embedder.'
      ),
      **peer_arrays.states(
        config, ours.arrays, 'block', ours.blocks, 'embedder.'
      ),
    },
  )
  return ours.folder


class _Encoder:
  """The knowledge-augmented encoder and the release's loss."""

  def __init__(self, root):
    self.folder = peer_arrays.Folder(root, _ENCODER)
    self.model = peer_arrays.read_model(root, _ENCODER, realm_model.MASKED_LM)
    inputs = self.folder.arrays('inputs')
    self.tokens = peer_arrays.tokens(inputs)
    self.scores = tf.constant(inputs['relevance_score'])
    # Where nothing is to be predicted, they look at id 0.
    self.labels = np.maximum(inputs['labels'], 0).astype(np.int32)
    self.mask = inputs['mlm_mask'].astype(np.float32)
    batch, length = self.labels.shape
    self.everywhere = np.tile(np.arange(length, dtype=np.int32), [batch, 1])

  def logits(self):
    return self.model.knowledge_encoder.logits(self.tokens, self.everywhere)

  def log_probs(self, logits):
    """Returns log p(y_j|z,x) of the label of each position, [B, K, L]."""
    labels = tf.repeat(self.labels[:, None], logits.shape[1], axis=1)
    return -tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)

  def loss(self, scores, log_probs):
    """Returns the mean over masked tokens."""
    by_token = marginal_likelihood.per_token_log_likelihood(
      scores, log_probs, self.mask
    )
    return -tf.reduce_sum(by_token) / self.mask.sum()


def knowledge_encoder(root: str) -> peer_arrays.Folder:
  """Compares logits, the marginal per token, and the gradients."""
  ours = _Encoder(root)
  with tf.GradientTape(persistent=True) as tape:
    tape.watch(ours.scores)
    logits = ours.logits()  # [B, K, L, V]
    log_probs = ours.log_probs(logits)
    loss = ours.loss(ours.scores, log_probs)
  folder = ours.folder
  flat = tf.reshape(logits, [-1, *logits.shape[2:]])
  folder.compare(
    'outputs',
    {
      'loss': loss,
      'logits': flat,
      **peer_arrays.states(
        ours.model.config.reader_bert,
        _values(ours.model),
        'reader',
        ours.tokens,
      ),
    },
  )
  ones = tf.ones_like(ours.mask)
  by_token = marginal_likelihood.per_token_log_likelihood(
    ours.scores, log_probs, ones
  )
  folder.compare(
    'extra',
    {
      'relevance_grad': tape.gradient(loss, ours.scores),
      'token_gold_log_prob': log_probs,
      'marginal_gold_log_prob': by_token,
      'loss_by_formula': loss,
    },
  )
  # Without a mask their loss is the mean over all positions, those that are
  # not to be predicted among them, as zeros.
  share = ours.mask.mean()
  folder.compare('variants', {'loss_without_mlm_mask': loss * share})
  roles = hugging_face_names.ROLES['RealmKnowledgeAugEncoder']
  gradients = peer_arrays.gradients(tape, loss, ours.model)
  folder.compare_gradients('grads', gradients, ours.model, roles)
  return folder


def joint(root: str) -> peer_arrays.Folder:
  """Compares the scorer's scores in the encoder's loss."""
  scorer_, encoder = _Scorer(root), _Encoder(root)
  with tf.GradientTape(persistent=True) as tape:
    _, _, scores = scorer_()
    loss = encoder.loss(scores, encoder.log_probs(encoder.logits()))
  folder = peer_arrays.Folder(root, 'joint')
  folder.compare(
    'outputs',
    {
      'relevance_score': scores,
      'loss': loss,
      'relevance_grad': tape.gradient(loss, scores),
      'retrieval_prob': tf.nn.softmax(scores),
    },
  )
  for file, model, architecture in (
    (SCORER_GRADIENTS, scorer_.model, 'RealmScorer'),
    (f'grads_{_ENCODER}', encoder.model, 'RealmKnowledgeAugEncoder'),
  ):
    roles = hugging_face_names.ROLES[architecture]
    gradients = peer_arrays.gradients(tape, loss, model)
    folder.compare_gradients(file, gradients, model, roles)
  # float32 loses digits on the way to the scores: see transformers_test.py. So
  # the towers are compared alone too, from transformers' gradient of these.
  upstream = folder.arrays('outputs')['relevance_grad']
  gradients = peer_arrays.gradients(tape, scores, scorer_.model, upstream)
  roles = hugging_face_names.ROLES['RealmScorer']
  folder.compare_gradients(
    SCORER_GRADIENTS, gradients, scorer_.model, roles, FROM_SCORES
  )
  return folder
