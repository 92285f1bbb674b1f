"""Vectors like real embeddings: a mixture of about sqrt(N) Gaussian clusters.

Written chunk by chunk, so any number fits into memory. The seed is fixed.
"""

import os

import numpy as np

DIMENSIONS = 128
_SPREAD = 0.7  # Standard deviation in a cluster; centres have 1.
_CHUNK = 1 << 17


def write(directory: str, num_vectors: int, num_queries: int) -> None:
  """Writes blocks.npy, queries.npy and tuning_queries.npy, float32 [., 128]."""
  drawn_centres = centres(num_vectors, DIMENSIONS)
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
      chunk[:] = draw(drawn_centres, len(chunk), rng)
    file.flush()


def centres(num_vectors: int, dimensions: int) -> np.ndarray:
  """Returns the centres of N vectors, float32 [about sqrt(N), D]."""
  shape = [max(1, round(num_vectors**0.5)), dimensions]
  return np.random.default_rng(0).standard_normal(shape, np.float32)


def draw(around: np.ndarray, number: int, rng: np.random.Generator):
  """Returns `number` vectors around randomly drawn centres, float32 [n, D]."""
  which = rng.integers(0, len(around), number)
  noise = rng.standard_normal([number, around.shape[1]], np.float32)
  return around[which] + _SPREAD * noise


def path(directory: str, name: str) -> str:
  """Returns the path of an array."""
  return os.path.join(directory, f'{name}.npy')


def read(directory: str, name: str) -> np.ndarray:
  """Returns an array, memory-mapped."""
  return np.load(path(directory, name), mmap_mode='r')
