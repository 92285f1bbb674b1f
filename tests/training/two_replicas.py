"""Computes ICT steps on one replica and on two, for a test.

  python -m tests.training.two_replicas FILE.npz

It needs its own process: only before TensorFlow starts can the CPU be split.
"""

import sys

from realm_tf.model import strategies

strategies.split_cpu(2)

# pylint: disable=wrong-import-position
from realm_tf.training import inverse_cloze_trainer  # noqa: E402
from tests import forks  # noqa: E402
from tests import tiny  # noqa: E402
from tests.training import small_inverse_cloze  # noqa: E402

_TRAINER = inverse_cloze_trainer.InverseClozeTrainer


def main(path: str):
  compute = small_inverse_cloze.compute
  with tiny.eagerly():
    results = {'one replica': compute(_TRAINER, 0.0)}
  with strategies.create('mirrored').scope():
    results['two replicas'] = compute(_TRAINER, 0.0)
    results['chunks, dropout'] = compute(_TRAINER, 0.5, chunk_size=2)
    results['dropout'] = compute(small_inverse_cloze.OneTape, 0.5, num_chunks=2)
  forks.write(path, results)


if __name__ == '__main__':
  main(sys.argv[1])
