"""Tests for realm_tf.model.config_sizes."""

import dataclasses

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.model import config_sizes
from realm_tf.model import realm_model
from realm_tf.model import weights
from tests import tiny

_SEQ2SEQ = config_lib.Seq2SeqConfig(
  hidden_size=6, head_size=3, num_heads=2, num_layers=1, intermediate_size=5
)
_CONFIG = realm_model.with_vocab_size(
  dataclasses.replace(tiny.config().model, seq2seq=_SEQ2SEQ), 12
)
_PARTS = (realm_model.EMBEDDER, realm_model.SPAN, realm_model.SEQ2SEQ)


def _with(path: str, value: int) -> config_lib.ModelConfig:
  section, _, field = path.rpartition('.')
  changes = {field: value}
  return tiny.changed(_CONFIG, **({section: changes} if section else changes))


class ConfigSizesTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    model = realm_model.RealmModel(_CONFIG, _PARTS)
    cls.arrays = weights.values(model.variables)

  def test_weights_fit_their_own_config(self):
    config_sizes.check(_CONFIG, self.arrays, 'params')
    config_sizes.check(_with('reader_bert.num_layers', 9), {}, 'params')

  @parameterized.parameters(
    *(
      (f'{section}.{field}', value)
      for section in ('embedder_bert', 'reader_bert')
      for field, value in (
        ('vocab_size', 0),
        ('hidden_size', 10**9),
        ('num_layers', 1000),
        ('num_heads', 4),
        ('intermediate_size', 10**9),
        ('max_positions', 10**9),
      )
    ),
    ('embedder.embedding_size', 10**9),
    ('span_hidden_size', 10**9),
    ('max_span_width', 10**9),
    ('seq2seq.vocab_size', 10**9),
    ('seq2seq.hidden_size', 10**9),
    ('seq2seq.head_size', 10**9),
    ('seq2seq.num_layers', 1000),
    ('seq2seq.num_decoder_layers', 1000),
    ('seq2seq.num_heads', 10**9),
    ('seq2seq.intermediate_size', 10**9),
    ('seq2seq.num_buckets', 10**9),
  )
  def test_a_wrong_size_is_named(self, path, value):
    with self.assertRaisesRegex(errors.UserError, f'`model.{path}` .*{value}'):
      config_sizes.check(_with(path, value), self.arrays, 'params')


if __name__ == '__main__':
  absltest.main()
