"""A run of launch.own_text with an encoder, from articles to a page."""

import json
import os
from unittest import mock

from absl.testing import absltest
import tf_keras

from launch import own_text
from launch import own_text_plan
import realm_tf
from realm_tf import config as config_lib
from realm_tf.model import realm_model
from realm_tf.text import vocabulary
from realm_tf.training import job as job_lib
from realm_tf.training import params_export
from tests import tiny

_NAMES = 'Arlen Borwick Corrin Delby Esker Farrow Galby Hurst'.split()
_WORDS = 'the bridge was built in by who also of a near .'
_NUM_ARTICLES = 150
_STEPS = 2
# Compiling a step takes longer than so few steps.
_OVERRIDES = [
  f'{section}.jit_compile=false'
  for section in ('inverse_cloze', 'pretraining', 'finetuning')
]


def _text(number: int) -> str:
  builder, town = _NAMES[number % 7], _NAMES[(number * 3 + 1) % 8]
  return (
    f'The bridge of {town} was built in {1800 + number} by {builder}. '
    f'A bridge near {town} was also built by {builder}.'
  )


class OwnTextRunTest(absltest.TestCase):
  def _encoder(self) -> str:
    """Writes an encoder of normalized embeddings, as a sentence encoder is."""
    years = [str(1800 + number) for number in range(_NUM_ARTICLES)]
    words = [*_WORDS.split(), *map(str.lower, _NAMES), *years]
    pieces = [*vocabulary.SPECIALS, *words]
    vocab_file = self.create_tempfile('vocab.txt', '\n'.join(pieces)).full_path
    bert = tiny.bert(max_positions=256)
    embedder = config_lib.EmbedderConfig(
      head='mean', normalize=True, shared_towers=True, score_scale=20.0
    )
    small = tiny.changed(
      own_text.CONFIG.model,
      embedder_bert=bert,
      reader_bert=bert,
      embedder=embedder,
      span_hidden_size=4,
      train_dtype='float32',
    )
    sizes = realm_model.with_vocab_size(small, len(pieces))
    path = self.create_tempdir().full_path
    config = tiny.changed(own_text.CONFIG, model=sizes)
    job_lib.Job(path).begin(config, vocab_file)
    tf_keras.utils.set_random_seed(0)
    model = realm_model.RealmModel(sizes, [realm_model.EMBEDDER])
    params_export.publish(path, 0, model)
    return path

  def test_ends_with_a_page_that_answers(self):
    articles = self.create_tempfile(
      'articles.jsonl',
      '\n'.join(
        json.dumps({'title': f'Bridge {number}', 'text': _text(number)})
        for number in range(_NUM_ARTICLES)
      ),
    ).full_path
    run_dir = os.path.join(self.create_tempdir().full_path, 'run')
    few = {
      name: (*stage[:3], stage[3] and (1, _STEPS, _STEPS), ())
      for name, stage in own_text_plan.STAGES.items()
    }
    with mock.patch.dict(own_text_plan.STAGES, few):
      own_text.run(
        articles, run_dir, encoder=self._encoder(), overrides=_OVERRIDES
      )
    realm = realm_tf.load(run_dir)
    self.assertLen(realm.search('the bridge of Arlen', 2), 2)
    self.assertTrue(realm.ask('who built the bridge of Delby').prediction)
    with open(os.path.join(run_dir, 'choice.json')) as file:
      self.assertIn("the encoder's embeddings", json.load(file)['text'])


if __name__ == '__main__':
  absltest.main()
