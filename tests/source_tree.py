"""The import table, and functions for tests that read the source code."""

import ast
from collections.abc import Iterator
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Package -> packages that it may import. All may import `_LEAVES`.
MAY_IMPORT = {
  'errors': '',
  'json_text': '',
  'input_files': '',
  'config': '',
  'objectives': '',
  'demo': '',
  'text': '',
  'rundir': 'config text',
  'corpus': 'text',
  'records': 'config rundir text corpus',
  'pipelines': 'text rundir corpus records tagging index',
  'modeling': 'config objectives',
  'tagging': 'rundir text corpus records modeling index',
  'index': 'config rundir text records modeling',
  'importing': 'config rundir text corpus records modeling index',
  # The trainer and the refresher share only the run directory.
  'refresh': 'rundir index',
  'retrieval': 'config rundir text records modeling index',
  'training': (
    'config rundir objectives text corpus records modeling tagging index'
    ' retrieval'
  ),
  'planning': 'config rundir records modeling index training',
  'reporting': 'config rundir',
  'answering': (
    'config rundir objectives text records modeling index retrieval'
  ),
  'evaluation': (
    'config text corpus records modeling index retrieval answering'
  ),
  'export': (
    'config rundir objectives text records modeling index importing answering'
  ),
  'live': 'rundir text corpus records index retrieval',
  'serving': (
    'config rundir objectives text records modeling index retrieval answering'
    ' live'
  ),
}

# Package -> its wings: folders inside its folder. A wing may import the shared
# files of its package, and the packages in its row. The shared files import no
# wing, and no wing imports another.
WINGS = {'training': 'pretraining inverse_cloze finetuning rivals tagger'}

# Packages without their own folder -> their files.
FILES_OF = {
  'errors': ['realm_tf/__init__.py', 'realm_tf/errors.py'],
  'json_text': ['realm_tf/json_text.py'],
  'input_files': ['realm_tf/input_files.py'],
}
_LEAVES = ('errors', 'json_text', 'input_files')  # Each imports earlier ones.

# Modules of bin/ that binaries share.
SHARED_BY_BINARIES = tuple(
  sorted(
    path.stem
    for path in ROOT.glob('bin/*.py')
    if "__name__ == '__main__'" not in path.read_text()
    and path.stem != '__init__'
  )
)


def binaries() -> list[str]:
  """Returns the names of all binaries, sorted."""
  names = {path.stem for path in ROOT.glob('bin/*.py')}
  return sorted(names - {'__init__', *SHARED_BY_BINARIES})


def allowed(package: str) -> set[str]:
  """Returns the packages that `package` may import, itself included."""
  leaves = _LEAVES
  if package in leaves:
    leaves = leaves[: leaves.index(package)]
  return {package, *leaves, *MAY_IMPORT[package].split()}


def python_files(*folders: str) -> list[str]:
  """Returns the Python files under `folders`, as paths from the root."""
  return sorted(
    path.relative_to(ROOT).as_posix()
    for folder in folders
    for path in (ROOT / folder).rglob('*.py')
  )


def parse(name: str) -> ast.Module:
  """Returns the syntax tree of a file; `name` is a path from the root."""
  return ast.parse((ROOT / name).read_text(), name)


def imports(name: str) -> Iterator[tuple[int, str]]:
  """Yields (line, dotted module) of every import in the file `name`.

  `from . import launcher` in bin/ gives 'bin.launcher', and so in launch/;
  relative imports of other packages, which are forbidden, keep their dots.
  """
  for node in ast.walk(parse(name)):
    if isinstance(node, ast.Import):
      yield from ((node.lineno, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
      module = '.' * node.level + (node.module or '')
      if module == '.' and name.startswith(('bin/', 'launch/')):
        module = name.partition('/')[0]
      yield from ((node.lineno, f'{module}.{a.name}') for a in node.names)


def wing_of(module: str) -> str:
  """Returns the wing of a module 'realm_tf.NAME...', or ''."""
  _, package, *rest = module.split('.')
  wings = WINGS.get(package, '').split()
  return rest[0] if rest and rest[0] in wings else ''


def package_of(module: str) -> str:
  """Returns the package of a module 'realm_tf.NAME...', as in MAY_IMPORT."""
  return module.split('.')[1]
