"""Chooses the dtype of matmuls on this machine.

'auto' is bfloat16 where the hardware multiplies it faster, else float32.
Variables, sums, softmax and losses are always float32.
"""

from collections.abc import Iterator
import contextlib
import contextvars
import dataclasses
import functools
import itertools
import os

import tensorflow as tf

from realm_tf import config as config_lib

_CPU_INFO = '/proc/cpuinfo'
_AMPERE = (8, 0)  # The first GPUs with tensor cores for bfloat16.
_WITHOUT_FAST_MEMORY = ('v2', 'v3')
_planned = contextvars.ContextVar('planned', default='')


@contextlib.contextmanager
def planned_for_tpu(kind: str = 'v5e') -> Iterator[None]:
  """Makes models in the context as on a TPU, on a machine without one."""
  token = _planned.set(kind)
  try:
    yield
  finally:
    _planned.reset(token)


def has_tpu() -> bool:
  """Returns whether this machine has a TPU, or models are planned for one."""
  return bool(_planned.get() or tf.config.list_physical_devices('TPU'))


def has_fast_memory(kind: str = '') -> bool:
  """Returns whether a TPU's cores keep arrays between two instructions.

  By default, of the kind of this machine: its environment has 'v3-8'.
  """
  kind = kind or _planned.get() or os.environ.get('TPU_ACCELERATOR_TYPE', '')
  return not kind.startswith(_WITHOUT_FAST_MEMORY)


def choose(dtype: str) -> str:
  """Returns 'float32' or 'bfloat16' for one of these or 'auto'."""
  if dtype != 'auto':
    return dtype
  return 'bfloat16' if prefers_bfloat16() else 'float32'


def resolve(config: config_lib.ExperimentConfig) -> config_lib.ExperimentConfig:
  """Returns `config` with each 'auto' replaced by a dtype."""
  return dataclasses.replace(
    config,
    model=dataclasses.replace(
      config.model, train_dtype=choose(config.model.train_dtype)
    ),
    index=dataclasses.replace(
      config.index, embed_dtype=choose(config.index.embed_dtype)
    ),
  )


@functools.cache
def prefers_bfloat16() -> bool:
  """Returns whether this machine's fastest devices prefer bfloat16.

  These are TPUs, GPUs since Ampere, and processors with AMX or AMD's
  AVX512-BF16. Intel's multiplies float32 faster (docs/performance.md).
  """
  if tf.config.list_physical_devices('TPU'):
    return True
  gpus = tf.config.list_physical_devices('GPU')
  if gpus:
    details = tf.config.experimental.get_device_details(gpus[0])
    return details.get('compute_capability', (0, 0)) >= _AMPERE
  with (
    contextlib.suppress(OSError),  # Not Linux.
    open(_CPU_INFO, encoding='utf-8') as file,
  ):
    first = itertools.takewhile(str.strip, file)  # Processor.
    parts = (line.partition(':') for line in first)
    about = {name.strip(): value.split() for name, _, value in parts}
    features = about.get('flags', [])
    is_amd = about.get('vendor_id') == ['AuthenticAMD']
    return 'amx_bf16' in features or (is_amd and 'avx512_bf16' in features)
  return False


def to_float(values: tf.Tensor) -> tf.Tensor:
  """Returns values in float32, in which sums and norms are computed."""
  return tf.cast(values, tf.float32)


def to_half(values: tf.Tensor) -> tf.Tensor:
  """Returns values in bfloat16, in which products are computed."""
  return tf.cast(values, tf.bfloat16)
