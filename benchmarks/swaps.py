r"""Step times of a trainer while the index under it is exchanged.

  python -m benchmarks.swaps --num_blocks=1000000 --num_swaps=20

Real training steps of a small model, fed by a search in the index. Stretches
with a swap (published, noticed, loaded, swapped, freed) take turns with quiet
ones, which are the peer here. A stall is what a step takes above the median
of the quiet ones; at most one such median is the aim.
"""

import os
import tempfile
import time

from absl import app
from absl import flags
import numpy as np

from benchmarks import printing
from benchmarks import swapping_run
from benchmarks import ticker as ticker_lib
from realm_tf.modeling import realm_model
from realm_tf.rundir import versions
from realm_tf.training import optimizer
from realm_tf.training import prefetch
from realm_tf.training import runs
from realm_tf.training.pretraining import index_age
from realm_tf.training.pretraining import index_search
from realm_tf.training.pretraining import pretraining_batches
from realm_tf.training.pretraining import pretraining_trainer

_NUM_BLOCKS = flags.DEFINE_integer('num_blocks', 1_000_000, 'N.')
_NUM_SWAPS = flags.DEFINE_integer('num_swaps', 20, 'Swaps.')
_STEPS = flags.DEFINE_integer(
  'steps', 20, 'Steps of a quiet stretch, and least of one with a swap.'
)
_HIDDEN_SIZE = flags.DEFINE_integer(
  'hidden_size', 128, 'Width of the two layers.'
)
_BATCH_SIZE = flags.DEFINE_integer('batch_size', 2, 'Queries of a step.')
_SEARCHER = flags.DEFINE_string('searcher', 'scann', 'See IndexConfig.')
_QUICK = flags.DEFINE_boolean('quick', False, '50,000 blocks and 4 swaps.')

_WARM_UP_STEPS = 5


class _Training:
  """A trainer and what feeds it; one step a call."""

  def __init__(self, directory, num_blocks):
    self.config = swapping_run.experiment(
      _HIDDEN_SIZE.value, _BATCH_SIZE.value, _SEARCHER.value
    )
    self.run_dir = os.path.join(directory, 'run')
    os.makedirs(self.run_dir)
    inputs = runs.Inputs(
      self.config,
      '',
      swapping_run.RandomTable(num_blocks),
      None,
      swapping_run.SPECIAL_IDS,
      swapping_run.ORDINARY_IDS,
    )
    self.model = realm_model.RealmModel(
      self.config.model, [realm_model.MASKED_LM, realm_model.EMBEDDER]
    )
    self.search = index_search.IndexSearch(inputs, self.run_dir)
    self._trainer = pretraining_trainer.PretrainingTrainer(
      optimizer.create(self.config.pretraining.optimizer),
      self.model,
      self.config,
      special_ids=swapping_run.SPECIAL_IDS,
      age=index_age.IndexAge(self.run_dir),
    )
    self._batches = prefetch.prefetch(
      pretraining_batches.with_index_step(
        pretraining_batches.batches(
          swapping_run.write_queries(
            os.path.join(directory, 'queries'), inputs.table
          ),
          inputs.table,
          self.search,
          tokenizer=inputs.tokenizer,
          experiment=self.config,
        ),
        self.search,
      )
    )

  def step(self) -> float:
    """Returns the seconds that one more step takes."""
    begun = time.monotonic()
    self._trainer.train_step(self._batches)
    return time.monotonic() - begun


def _measure(training: _Training, made: versions.Version, num_swaps: int):
  """Returns seconds of steps and longest gaps, by whether there was a swap."""
  swapping_run.publish_again(made, training.run_dir, 0)
  for _ in range(_WARM_UP_STEPS):
    training.step()
  ticker = ticker_lib.Ticker()
  secs, gaps = {False: [], True: []}, {False: [], True: []}
  for step in range(1, num_swaps + 1):
    for with_swap in (False, True):
      ticker.take_longest()
      taken = _stretch(training, made, step if with_swap else None)
      secs[with_swap] += taken
      gaps[with_swap].append(ticker.take_longest())
    print(f'swap {step}: {len(taken)} steps', flush=True)
  return secs, gaps


def _stretch(training, made, publish_step):
  """Returns the seconds of the steps of one stretch."""
  secs = []
  if publish_step is not None:
    swapping_run.publish_again(made, training.run_dir, publish_step)
  num_steps = 4 if _QUICK.value else _STEPS.value
  while len(secs) < num_steps or training.search.step < (publish_step or 0):
    secs.append(training.step())
  # And some more, in which the old one is freed.
  return secs + [training.step() for _ in range(3)]


def _row(case, unit, ours, peer, **more):
  ratio = peer / ours if ours else None
  return {
    'case': case,
    'unit': unit,
    'ours': ours,
    'peer': peer,
    'ratio': ratio,
    **more,
  }


def _rows(secs, gaps):
  quiet, swapping = (1000 * np.array(secs[name]) for name in (False, True))
  for case, percent in (('median', 50), ('99th percentile', 99)):
    yield _row(
      case,
      'ms a step',
      np.percentile(swapping, percent),
      np.percentile(quiet, percent),
      num_steps=[len(swapping), len(quiet)],
    )
  median = np.median(quiet)
  yield _row(
    'longest stall',
    'median steps',
    swapping.max() / median - 1,
    quiet.max() / median - 1,
  )
  yield _row(
    'longest gap of a thread that ticks every ms',
    'ms',
    1000 * max(gaps[True]),
    1000 * max(gaps[False]),
  )


def main(_):
  num_blocks = 50_000 if _QUICK.value else _NUM_BLOCKS.value
  num_swaps = 4 if _QUICK.value else _NUM_SWAPS.value
  with tempfile.TemporaryDirectory() as directory:
    training = _Training(directory, num_blocks)
    begun = time.monotonic()
    made = swapping_run.make_index(
      os.path.join(directory, 'made'),
      training.config,
      training.model,
      num_blocks,
    )
    print(f'Made the index in {time.monotonic() - begun:.0f} s.', flush=True)
    rows = _rows(*_measure(training, made, num_swaps))
  printing.print_rows('swaps', 'see rows', rows)


if __name__ == '__main__':
  app.run(main)
