"""Vectors like real embeddings: a mixture of about sqrt(N) Gaussian clusters.

Written chunk by chunk, so that any number fits; the same for the same seed.
"""

import os

import numpy as np

DIMENSIONS = 128
_SPREAD = 0.7  # Standard deviation in a cluster; that of the centres is 1.
_CHUNK = 1 << 17


def write(directory: str, num_vectors: int, num_queries: int) -> None:
  """Writes blocks.npy, queries.npy and tuning_queries.npy, float32 [., 128]."""
  centres = np.random.default_rng(0).standard_normal(
    [max(1, round(num_vectors**0.5)), DIMENSIONS], np.float32
  )
  for seed, (name, size) in enumerate(
    (
      ('blocks', num_vectors),
      ('queries', num_queries),
      ('tuning_queries', num_queries),
    ),
    start=1,
  ):
    file = np.lib.format.open_memmap(
      path(directory, name), 'w+', np.float32, (size, DIMENSIONS)
    )
    rng = np.random.default_rng(seed)
    for start in range(0, size, _CHUNK):
      chunk = file[start : start + _CHUNK]
      which = rng.integers(0, len(centres), len(chunk))
      noise = rng.standard_normal(chunk.shape, np.float32)
      chunk[:] = centres[which] + _SPREAD * noise
    file.flush()


def path(directory: str, name: str) -> str:
  """Returns the path of an array."""
  return os.path.join(directory, f'{name}.npy')


def read(directory: str, name: str) -> np.ndarray:
  """Returns an array, memory-mapped."""
  return np.load(path(directory, name), mmap_mode='r')
