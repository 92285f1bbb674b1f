"""Tests for realm_tf.world.inputs."""

from absl.testing import absltest

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.records import query_building
from realm_tf.world import inputs
from tests import tiny

_WORLD = config_lib.WorldConfig(num_cities=2)


class InputsTest(absltest.TestCase):
  def test_the_sentences_of_the_world_become_queries(self):
    sentences = inputs.read_tagged_sentences(['world'], 'auto', _WORLD)
    table = tiny.open_corpus(self.create_tempdir().full_path)
    (first, *_) = query_building.queries_from_sentences(
      sentences, tiny.TOKENIZER, table
    )
    world = inputs.generate_world(_WORLD)
    self.assertEqual(first.text, world.sentences[0].text)
    self.assertNotEmpty(first.spans)

  def test_the_world_must_be_the_only_input(self):
    with self.assertRaisesRegex(errors.UserError, 'the only input'):
      inputs.read_articles(['world', 'x.jsonl'], 'auto', _WORLD)


if __name__ == '__main__':
  absltest.main()
