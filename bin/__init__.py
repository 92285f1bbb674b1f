"""Binaries. What must be set before TensorFlow is loaded is set here."""

import contextlib
import ctypes
import os


def _keep_freed_memory():
  """Makes glibc keep large freed blocks, in one arena for all threads.

  It must be called before TensorFlow, whose threads would have arenas of their
  own: these give back what is freed, and a larger block than 64 MB at once.
  """
  # Clearing new ones costs a sixth of a small model's step on CPU.
  with contextlib.suppress(OSError, AttributeError):  # Another C library.
    mallopt = ctypes.CDLL('libc.so.6').mallopt
    for name, value in ((-3, 1 << 30), (-1, (1 << 31) - 1), (-8, 1)):
      mallopt(name, value)  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_ARENA_MAX.


# A user's own setting wins.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('TF_USE_LEGACY_KERAS', '1')
_keep_freed_memory()
