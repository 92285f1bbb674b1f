"""Imports all that the binaries in $REALM_PRELOAD import.

Only the process from which stages are forked imports this.
"""

import contextlib
import importlib
import os

from . import workers

with contextlib.suppress(Exception):  # The stage that needs it reports it.
  importlib.import_module(f'{workers.BIN}.modules').preload(
    os.environ[workers.PRELOAD].split()
  )
