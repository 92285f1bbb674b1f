"""Lets pytest run absl tests, seeded, and the longest files first.

Their temporary directories need parsed flags. Files are dealt to processes in
their order: were a long one the last, all but one process would wait for it.
"""

import random
from unittest import mock

from absl import flags
import hypothesis
import numpy as np
import pytest

from realm_tf.modeling import precision

# Minutes each; the longest first.
_LONG = (
  'end_to_end_test.py',
  'refresh/faults_test.py',
  'training/resumed_runs_test.py',
  'training/strategy_runs_test.py',
  'bin/user_mistakes_test.py',
  'export/saved_model_test.py',
  'export/hub_export_test.py',
  'serving/page_test.py',
  'training/inverse_cloze/inverse_cloze_replicas_test.py',
  'training/finetuning/finetuning_run_test.py',
  'training/inverse_cloze/inverse_cloze_trainer_test.py',
)

flags.FLAGS.mark_as_parsed()
# The same examples in each run, and no error because a machine is busy.
hypothesis.settings.register_profile(
  'seeded',
  derandomize=True,
  deadline=None,
  suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile('seeded')


@pytest.fixture(scope='session', autouse=True)
def _float32():
  """Makes 'auto' mean float32, whatever this machine multiplies."""
  with mock.patch.object(precision, 'multiplies_bfloat16', lambda: False):
    yield


@pytest.fixture(scope='module', autouse=True)
def _seed():
  """Seeds what Keras draws initial weights from, before `setUpClass`.

  A file's tests then see the same weights whichever files ran before it.
  """
  random.seed(0)
  np.random.seed(0)


def pytest_collection_modifyitems(items):
  """Sorts tests, stably: those of long files come first."""

  def rank(item):
    path = item.path.as_posix()
    return next(
      (i for i, name in enumerate(_LONG) if path.endswith(f'tests/{name}')),
      len(_LONG),
    )

  items.sort(key=rank)
