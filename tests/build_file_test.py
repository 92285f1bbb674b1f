"""Tests that BUILD says what the code does: targets, sources, dependencies.

BUILD is kept by hand. A failure prints the rule to paste or to change.
"""

import ast
import pathlib
import shutil
import subprocess
from typing import Any

from absl.testing import absltest
from absl.testing import parameterized

from tests import source_tree


def _value(node: ast.expr) -> Any:
  """Returns a literal of BUILD; the patterns of glob([...])."""
  if isinstance(node, ast.Call) and node.func.id == 'glob':
    node = node.args[0]
  return ast.literal_eval(node)


def _rules() -> dict[str, dict[str, Any]]:
  """Returns name -> attributes, 'kind' among them, of BUILD's rules."""
  rules = {}
  for statement in source_tree.parse('BUILD').body:
    call = getattr(statement, 'value', None)
    if isinstance(call, ast.Call):
      rule = {k.arg: _value(k.value) for k in call.keywords}
      if 'name' in rule:
        rules[rule['name']] = {'kind': call.func.id, **rule}
  return rules


_SHARED = [['bin', name] for name in source_tree.SHARED_BY_BINARIES]


def _library_of(module: str) -> str:
  """Returns the label that holds `module`, '' for third-party ones."""
  first, _, rest = module.partition('.')
  if first == 'realm_tf' and rest:
    return ':' + source_tree.package_of(module)
  if module.split('.')[:2] in _SHARED:
    return ':launcher'
  if module.startswith('benchmarks.processes'):
    return ':benchmarking'
  return {'tests': ':testing', 'launch': ':launch'}.get(first, '')


def _needed(name: str) -> list[str]:
  """Returns the labels that the file `name` imports from."""
  modules = source_tree.imports(source_tree.parse(name))
  return sorted({_library_of(module) for _, module in modules} - {''})


def _as_text(kind: str, name: str, deps: list[str]) -> str:
  lines = [f'{kind}(', f'    name = "{name}",', f'    srcs = ["{name}.py"],']
  if len(deps) == 1:
    lines.append(f'    deps = ["{deps[0]}"],')
  elif deps:
    lines += ['    deps = [', *(f'        "{d}",' for d in deps), '    ],']
  return '\n'.join([*lines, ')'])


class BuildFileTest(parameterized.TestCase):
  @parameterized.parameters(*source_tree.MAY_IMPORT)
  def test_a_library_per_package_repeats_the_import_table(self, package):
    rule = _rules().get(package, {})
    self.assertEqual(rule.get('kind'), 'py_library', f'No py_library {package}')
    expected = source_tree.allowed(package) - {package}
    self.assertEqual(
      rule.get('deps', []),
      sorted(f':{name}' for name in expected),
      f'deps of :{package} must be its row in tests/source_tree.py, sorted.',
    )
    self.assertEqual(
      rule['srcs'],
      source_tree.FILES_OF.get(package, [f'realm_tf/{package}/*.py']),
    )

  def test_the_launcher_has_all_that_binaries_share(self):
    shared = ['__init__', *source_tree.SHARED_BY_BINARIES]
    files = [f'bin/{name}.py' for name in sorted(shared)]
    needed = {label for name in files for label in _needed(name)}
    rule = _rules()['launcher']
    self.assertEqual(rule['srcs'], files)
    self.assertEqual(rule['deps'], sorted(needed - {':launcher'}))

  @parameterized.parameters(
    ('tests', 'py_test'), ('bin', 'py_binary'), ('benchmarks', 'py_binary')
  )
  def test_a_rule_per_file_that_runs(self, folder, kind):
    rules = _rules()
    in_library = set()
    for rule in rules.values():
      if rule['kind'] == 'py_library':
        in_library.update(rule['srcs'])
    wrong = []
    for path in source_tree.python_files(folder):
      stem = path[:-3]
      helper = folder == 'tests' and not path.endswith('_test.py')
      if helper or path.endswith('__init__.py') or path in in_library:
        continue
      rule = rules.get(stem, {})
      if rule.get('kind') != kind or rule.get('deps', []) != _needed(path):
        wrong.append(_as_text(kind, stem, _needed(path)))
    if wrong:
      self.fail('BUILD must have\n\n' + '\n\n'.join(wrong))

  def test_every_source_exists(self):
    for name, rule in _rules().items():
      for pattern in rule.get('srcs', []):
        found = list(source_tree.ROOT.glob(pattern))
        self.assertNotEmpty(found, f'srcs of :{name} has no file {pattern}')

  def test_every_dependency_is_a_rule(self):
    rules = _rules()
    for name, rule in rules.items():
      for label in rule.get('deps', []):
        self.assertTrue(label[1:] in rules, f':{name} needs {label}: no rule')

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
