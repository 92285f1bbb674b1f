"""Runs absl tests under pytest: seeded, and the longest files first.

A long file at the end would keep one process busy after the others are idle.
"""

import os
from unittest import mock

from absl import flags
import hypothesis
import pytest
import tf_keras

from realm_tf.model import precision

# Files that take minutes; the longest first.
_LONG = (
  'tutorial_test.py',
  'index/faults_test.py',
  'training/tpu_ops_test.py',
  'training/pretraining_run_test.py',
  'training/strategy_runs_test.py',
  'training/resumed_runs_test.py',
  'training/inverse_cloze_trainer_test.py',
  'exchange/hub_export_test.py',
  'exchange/saved_model_test.py',
  'bin/user_mistakes_test.py',
  'launch/runs_test.py',
  'serving/page_test.py',
  'training/finetuning_run_test.py',
)

# Most tests run a program a few times, and wait for XLA's compiler longer than
# for the program. Binaries that tests start inherit it.
os.environ.setdefault('XLA_FLAGS', '--xla_backend_optimization_level=0')
flags.FLAGS.mark_as_parsed()  # absl's temporary directories need it.
# The same examples in each run, and no errors on a busy machine.
hypothesis.settings.register_profile(
  'seeded',
  derandomize=True,
  deadline=None,
  suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile('seeded')


@pytest.fixture(scope='session', autouse=True)
def _float32():
  """Makes 'auto' mean float32 on every machine."""
  with mock.patch.object(precision, 'prefers_bfloat16', lambda: False):
    yield


@pytest.fixture(scope='class', autouse=True)
def _seed_of_class():
  """Seeds the weights that a class makes before its first test."""
  tf_keras.utils.set_random_seed(0)


@pytest.fixture(autouse=True)
def _seed_of_test():
  """Seeds a test's weights, so that they do not follow from other tests."""
  tf_keras.utils.set_random_seed(0)


def pytest_collection_modifyitems(items):
  def rank(item):
    path = item.path.as_posix()
    return next(
      (i for i, name in enumerate(_LONG) if path.endswith(f'tests/{name}')),
      len(_LONG),
    )

  items.sort(key=rank)
