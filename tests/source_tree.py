"""The import table, and functions for tests that read the source code."""

import ast
from collections.abc import Iterator
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Package -> packages that it may import; all may import `root`, the files of
# realm_tf/ itself. `python -m tests.source_tree` writes the table into BUILD
# and docs/design.md.
MAY_IMPORT = {
  'root': '',
  'config': '',
  'run': '',
  'text': '',
  'corpus': 'text',
  'demo': 'run',
  'data': 'config run text corpus',
  'model': 'config',
  'index': 'config run text data model',
  'retrieval': 'config text data model index',
  # The trainer and the refresher share only the run directory.
  'training': 'config run text corpus data model index retrieval',
  'qa': 'config run text corpus data model index retrieval',
  'exchange': 'config run text corpus data model index qa',
  'serving': 'config run text corpus data model index retrieval qa',
  'tpu': 'config run data model index retrieval training',
  'beam': 'run text corpus data index training',
}

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
  return {package, 'root', *MAY_IMPORT[package].split()}


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


@functools.cache
def imported_files(name: str) -> set[str]:
  """Returns the files of this repository that the file `name` imports."""
  return {
    path
    for _, module in imports(name)
    for end in range(1, module.count('.') + 2)
    for path in ['/'.join(module.split('.')[:end]) + '.py']
    if (ROOT / path).exists()
  }


def package_of(module: str) -> str:
  """Returns the package of a module 'realm_tf.NAME...', as in MAY_IMPORT."""
  name = module.split('.')[1]
  return name if name in MAY_IMPORT else 'root'


def write_tables() -> None:
  """Writes MAY_IMPORT into BUILD and docs/design.md, whose texts stay."""
  build, design = ROOT / 'BUILD', ROOT / 'docs/design.md'
  rows = [f'    "{k}": "{v}",\n' for k, v in MAY_IMPORT.items() if k != 'root']
  table = 'MAY_IMPORT = {\n' + ''.join(rows) + '}'
  build.write_text(
    re.sub(r'MAY_IMPORT = \{.*?\n\}', table, build.read_text(), flags=re.S)
  )
  text = design.read_text()
  for name, row in MAY_IMPORT.items():
    text = re.sub(
      rf'^(\| `{name}` \| .* \| )[^|]* \|$',
      rf'\g<1>{row or "-"} |',
      text,
      flags=re.M,
    )
  design.write_text(text)


if __name__ == '__main__':
  write_tables()
