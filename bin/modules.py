"""Modules that binaries import."""

import ast
from collections.abc import Iterable
import importlib
import pathlib


def preload(binaries: Iterable[str]) -> None:
  """Imports all that `binaries` import; starts nothing, so it may be forked."""
  folder = pathlib.Path(__file__).parent
  names = list(binaries)
  for name in names:  # Grows by the modules that binaries share.
    for node in ast.parse((folder / f'{name}.py').read_text()).body:
      if isinstance(node, ast.ImportFrom):
        imported = [alias.name for alias in node.names]
        if node.level:
          names += [each for each in imported if each not in names]
        elif node.module and node.module.startswith('realm_tf'):
          for each in imported:
            importlib.import_module(f'{node.module}.{each}')
