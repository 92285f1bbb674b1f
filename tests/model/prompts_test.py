"""Tests for prompts of modeling.embedder, and where models insert them."""

import dataclasses

import tensorflow as tf

from realm_tf.data import joining
from realm_tf.model import embedder
from realm_tf.model import realm_model
from tests import tiny


class PromptsTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.queries = tf.constant([[7, 8, 9], [7, 0, 0]])
    self.packed = joining.pack(self.queries, None, *tiny.SPECIAL_IDS, 5)

  def test_equals_packing_with_the_prompt(self):
    inserted = embedder.insert_prompt(self.packed, '6 5')
    expected = joining.pack(
      tf.constant([[6, 5, 7, 8, 9], [6, 5, 7, 0, 0]]),
      None,
      *tiny.SPECIAL_IDS,
      7,
    )
    self.assertAllClose(inserted, expected)

  def test_prompt_precedes_the_title(self):
    titles = tf.constant([[9, 0]])
    bodies = tf.constant([[7, 8]])
    packed = joining.pack(titles, bodies, *tiny.SPECIAL_IDS, 6)
    expected = joining.pack(
      tf.constant([[6, 9, 0]]), bodies, *tiny.SPECIAL_IDS, 7
    )
    self.assertAllClose(embedder.insert_prompt(packed, '6'), expected)

  def test_queries_and_blocks_have_separate_prompts(self):
    config = realm_model.with_vocab_size(
      tiny.config().model, tiny.TOKENIZER.vocab_size
    )
    shared = dataclasses.replace(
      config.embedder,
      shared_towers=True,
      head='mean',
      query_prompt='6',
      block_prompt='5 6',
    )
    model = realm_model.RealmModel(
      dataclasses.replace(config, embedder=shared), [realm_model.EMBEDDER]
    )
    for embed, prompt in (
      (model.embed_queries, [6]),
      (model.embed_blocks, [5, 6]),
    ):
      expected = model.query_embedder(
        joining.pack(
          tf.constant([[*prompt, 7]]), None, *tiny.SPECIAL_IDS, len(prompt) + 3
        )
      )
      self.assertAllClose(embed(self.packed)[1:], expected, atol=1e-5)


if __name__ == '__main__':
  tf.test.main()
