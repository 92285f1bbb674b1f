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
# official.nlp is of tf_keras. TensorFlow would load keras, too, for 2 seconds.
os.environ.setdefault('TF_USE_LEGACY_KERAS', '1')


def load(directory: str, *args: Any, **kwargs: Any) -> Any:
  """Opens a trained model: `qa.bundle.load`; reader_dir may be 'hf:DIR'."""
  # TensorFlow takes seconds to import, `import realm_tf` none.
  bundle = importlib.import_module('realm_tf.qa.bundle')
  if kwargs.get('reader_dir'):
    cache = importlib.import_module('realm_tf.exchange.import_cache')
    kwargs['reader_dir'] = cache.model_dir(kwargs['reader_dir'])
  return bundle.load(directory, *args, **kwargs)
