"""Binaries. Importing the package sets up the process before TensorFlow."""

import contextlib
import ctypes

from . import modules

from realm_tf import process


def _keep_freed_memory():
  """Makes glibc keep large freed blocks, in one arena for all threads.

  Must precede TensorFlow's threads: per-thread arenas return freed memory to
  the system, and blocks above 64 MB immediately.
  """
  # Clearing new pages costs a sixth of a small model's step on CPU.
  with contextlib.suppress(OSError, AttributeError):  # Another C library.
    mallopt = ctypes.CDLL('libc.so.6').mallopt
    for name, value in ((-3, 1 << 30), (-1, (1 << 31) - 1), (-8, 1)):
      mallopt(name, value)  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_ARENA_MAX.


process.leave_if_interrupted()
_keep_freed_memory()
modules.be_lazy()
