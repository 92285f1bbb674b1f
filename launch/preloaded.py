"""Imports all that the binaries of recipes import.

Only the process from which stages are forked imports this.
"""

import contextlib
import importlib

from . import stage_records
from . import workers

_MORE = ('make_blocks', 'build_index', 'evaluate')

with contextlib.suppress(Exception):  # The stage that needs it reports it.
  modules = importlib.import_module(f'{workers.BIN}.modules')
  modules.preload((*stage_records.FIELDS_READ, *_MORE))
