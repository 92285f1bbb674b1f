"""Tests that BUILD agrees with the code: targets, sources, dependencies.

Its language is a part of Python, so BUILD is run as Python, with rules that
only note their arguments.
"""

import pathlib
import shutil
import subprocess
from typing import Any

from absl.testing import absltest
from absl.testing import parameterized

from tests import source_tree


def _glob(patterns, exclude=(), allow_empty=False):
  found = {p for pattern in patterns for p in source_tree.ROOT.glob(pattern)}
  found -= {p for pattern in exclude for p in source_tree.ROOT.glob(pattern)}
  if not found and not allow_empty:
    raise ValueError(f'No file is {patterns}.')
  return sorted(p.relative_to(source_tree.ROOT).as_posix() for p in found)


def _rules() -> dict[str, dict[str, Any]]:
  """Returns BUILD's rules, name -> attributes, with 'kind'."""
  rules = {}

  def rule_of(kind):
    def rule(name, srcs, **attributes):
      if name in rules:
        raise ValueError(f'Two rules are called {name}.')
      rules[name] = {'kind': kind, 'srcs': srcs, 'deps': [], **attributes}

    return rule

  names = {
    kind: rule_of(kind) for kind in ('py_library', 'py_binary', 'py_test')
  }
  for ignored in ('package', 'licenses', 'exports_files'):
    names[ignored] = lambda *args, **kwargs: None
  exec((source_tree.ROOT / 'BUILD').read_text(), {**names, 'glob': _glob})  # pylint: disable=exec-used
  return rules


def _with_dependencies(rules, name: str) -> set[str]:
  """Returns the rule `name` and all its direct and indirect dependencies."""
  found, to_do = set(), [name]
  while to_do:
    name = to_do.pop()
    if name not in found:
      found.add(name)
      to_do += [label.removeprefix(':') for label in rules[name]['deps']]
  return found


class BuildFileTest(parameterized.TestCase):
  @parameterized.parameters(*source_tree.MAY_IMPORT)
  def test_a_library_per_package_repeats_the_import_table(self, package):
    rule = _rules()[package]
    expected = source_tree.allowed(package) - {package}
    self.assertEqual(rule['kind'], 'py_library')
    self.assertCountEqual(rule['deps'], [f':{name}' for name in expected])
    self.assertCountEqual(
      rule['srcs'],
      _glob(
        ['realm_tf/*.py']
        if package == 'root'
        else [f'realm_tf/{package}/**/*.py']
      ),
    )

  def test_every_import_is_among_the_dependencies(self):
    rules = _rules()
    missing = []
    for name, rule in rules.items():
      needed = _with_dependencies(rules, name)
      files = {path for other in needed for path in rules[other]['srcs']}
      for path in rule['srcs']:
        found = source_tree.imported_files(path) - files
        missing += [f'{name}: {file}' for file in found]
    self.assertEmpty(missing, 'A rule must depend on all its imports.')

  @parameterized.parameters(
    ('tests', '_test.py', 'py_test'),
    ('bin', '.py', 'py_binary'),
    ('benchmarks', '.py', 'py_binary'),
  )
  def test_every_runnable_file_has_a_rule(self, folder, ending, kind):
    rules = _rules()
    for path in source_tree.python_files(folder):
      text = (source_tree.ROOT / path).read_text()
      if path.endswith(ending) and "__name__ == '__main__'" in text:
        self.assertEqual(rules[path[:-3]]['kind'], kind)
        self.assertEqual(rules[path[:-3]]['srcs'], [path])

  def test_bazel_reads_it(self):
    bazel = shutil.which('bazel')
    if bazel is None:
      self.skipTest('bazel is not installed.')
    cache = pathlib.Path(self.create_tempdir().full_path)
    query = subprocess.run(
      [bazel, f'--output_user_root={cache}', '--batch', 'query', '//...'],
      cwd=source_tree.ROOT,
      capture_output=True,
      text=True,
      timeout=120,
    )
    subprocess.run(['chmod', '-R', 'u+w', str(cache)], check=False)
    self.assertEqual(query.returncode, 0, query.stderr)
    self.assertCountEqual(
      query.stdout.split(), [f'//:{name}' for name in _rules()]
    )


if __name__ == '__main__':
  absltest.main()
