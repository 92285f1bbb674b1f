"""Modules that binaries import: lazy while flags are checked, then loaded.

TensorFlow takes three seconds to import, --help and a mistake in a flag none.
"""

from collections.abc import Iterable
import importlib
from importlib import abc
from importlib import machinery
from importlib import util
import pathlib
import re
import sys

_IMPORT = re.compile(r'^from (realm_tf[\w.]*) import (\w+)', re.MULTILINE)


class _LazyFinder(abc.MetaPathFinder):
  """Finds modules of realm_tf; each is loaded when one of its names is used."""

  def __init__(self):
    self.found = []

  def find_spec(self, fullname, path, target=None):
    if not fullname.startswith('realm_tf.') or fullname.startswith(__package__):
      return None
    spec = machinery.PathFinder.find_spec(fullname, path, target)
    if spec is None or spec.loader is None:
      return None
    spec.loader = util.LazyLoader(spec.loader)
    self.found.append(fullname)
    return spec


_FINDER = _LazyFinder()


def be_lazy() -> None:
  sys.meta_path.insert(0, _FINDER)


def load() -> None:
  """Loads all lazy modules, in this thread: LazyLoader is not made for two."""
  if _FINDER in sys.meta_path:
    sys.meta_path.remove(_FINDER)
  while _FINDER.found:
    # Any attribute loads it.
    sys.modules[_FINDER.found.pop(0)].__doc__  # noqa: B018


def preload(binaries: Iterable[str]) -> None:
  """Imports all that `binaries` import; starts nothing, so it may be forked."""
  load()
  folder = pathlib.Path(__file__).parent
  files = [folder / f'{name}.py' for name in binaries]
  for file in [*files, *folder.glob('*_flags.py')]:
    for package, name in _IMPORT.findall(file.read_text()):
      importlib.import_module(f'{package}.{name}')
