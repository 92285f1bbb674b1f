"""REALM: retrieval-augmented language model pre-training.

import realm_tf
realm = realm_tf.load('runs/quickstart')
realm.ask('who wrote the opera Fidelio')
realm.search('Fidelio')
realm.complete('Fidelio is an opera by [MASK] .')
"""

import importlib
import os
from typing import Any

__version__ = '0.5.0'
for _name, _value in {
  # official.nlp is of tf_keras. Else TensorFlow loads keras, too, in 2 s.
  'TF_USE_LEGACY_KERAS': '1',
  'TF_CPP_MIN_LOG_LEVEL': '3',
  # Keras would write a file of settings into the home directory.
  'KERAS_HOME': os.devnull,
}.items():
  os.environ.setdefault(_name, _value)  # A user's own setting wins.


def load(directory: str, *args: Any, **kwargs: Any) -> Any:
  """Opens a trained model: `qa.bundle.load`; reader_dir may be 'hf:DIR'."""
  # TensorFlow takes seconds to import, `import realm_tf` none.
  bundle = importlib.import_module('realm_tf.qa.bundle')
  if kwargs.get('reader_dir'):
    cache = importlib.import_module('realm_tf.exchange.import_cache')
    kwargs['reader_dir'] = cache.model_dir(kwargs['reader_dir'])
  return bundle.load(directory, *args, **kwargs)
