"""Imports all that the binaries of recipes import.

Only the process from which stages are forked imports this.
"""

import contextlib
import importlib

from . import schedule
from . import stage_records

_MORE = ('make_blocks', 'build_index', 'evaluate')

with contextlib.suppress(Exception):  # The stage that needs it reports it.
  modules = importlib.import_module(f'{schedule.BIN}.modules')
  modules.preload((*stage_records.FIELDS_READ, *_MORE))
