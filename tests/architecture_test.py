"""Tests the structure of the code: imports, sizes, forbidden calls.

Every failure lists all offenders, as file:line, and the remedy.
"""

import ast
from collections.abc import Iterator
import graphlib
import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from tests import source_tree

# Heavy package -> the beginnings of paths that may import it. All other
# files can be read and tested without the package.
_ADAPTERS = {
  'Stemmer': ['realm_tf/retrieval/word_search.py'],
  'apache_beam': ['realm_tf/beam/'],
  'bm25s': ['realm_tf/retrieval/word_search.py'],
  'docx': ['realm_tf/corpus/docx_file.py'],
  'granian': ['realm_tf/serving/connections.py'],
  'huggingface_hub': ['realm_tf/exchange/hugging_face_hub.py'],
  'ir_measures': ['realm_tf/qa/rankings.py'],
  'jax': ['realm_tf/tpu/compiler_process.py'],
  'jinja2': ['realm_tf/serving/report.py'],
  'libtpu': ['realm_tf/tpu/compiler_process.py'],
  'markdown_it': ['realm_tf/corpus/markdown_file.py'],
  'matplotlib': ['realm_tf/serving/pictures.py'],
  'mcp': ['realm_tf/serving/mcp_server.py'],
  'mwparserfromhell': ['realm_tf/corpus/wikitext.py'],
  'mwxml': ['realm_tf/corpus/mediawiki.py'],
  'official': [
    'realm_tf/model/bert.py',
    'realm_tf/model/seq2seq.py',
    'realm_tf/model/strategies.py',
    'realm_tf/training/optimizer.py',
  ],
  'openvino': ['realm_tf/model/openvino_encoder.py'],
  'orbit': ['realm_tf/training/'],
  'pyarrow': ['realm_tf/corpus/datasets.py'],
  'pymilvus': ['realm_tf/index/milvus_searcher.py'],
  'pypdfium2': ['realm_tf/corpus/pdf_file.py'],
  'regex': ['realm_tf/text/answers.py', 'realm_tf/text/words.py'],
  'safetensors': ['realm_tf/model/weights.py'],
  'scann': ['realm_tf/index/scann_'],
  'spacy': ['realm_tf/corpus/salient_spans.py'],
  'starlette': ['realm_tf/serving/http_server.py'],
  'tensorflow_datasets': ['realm_tf/corpus/datasets.py'],
  'tensorflow_hub': [],
  'tensorflow_text': [
    'realm_tf/text/sentencepieces.py',
    'realm_tf/text/string_tensors.py',
    'realm_tf/text/vocabulary.py',
    'realm_tf/text/wordpiece.py',
  ],
  'trafilatura': ['realm_tf/corpus/html_file.py'],
}
_MAX_LINES = {
  'bin': 200,
  **dict.fromkeys(('realm_tf', 'tests', 'benchmarks', 'launch'), 400),
}
_RECIPES_MAY_IMPORT = (
  *('realm_tf.config', 'realm_tf.errors', 'realm_tf.machine'),
  *('realm_tf.json_text', 'realm_tf.output_files', 'realm_tf.process'),
  *('realm_tf.run.recipe_result', 'realm_tf.run.run_lock'),
)
# For realm_tf.load and config.NAME; bin/ and launch/ begin processes.
_FACADES = 'realm_tf', 'realm_tf/config', 'bin', 'launch'
_MAX_FUNCTION_LINES = 50
_SHARED = tuple(f'bin.{name}' for name in source_tree.SHARED_BY_BINARIES)
_SOURCES = ('realm_tf', 'bin', 'launch', 'benchmarks')


def _functions(name: str) -> Iterator[ast.FunctionDef]:
  for node in ast.walk(source_tree.parse(name)):
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
      yield node


def _converts(node: ast.AST) -> bool:
  """Returns whether `node` makes a tf.function that autograph converts."""
  if isinstance(node, ast.FunctionDef):  # Decorated without arguments.
    return 'tf.function' in map(ast.unparse, node.decorator_list)
  if not isinstance(node, ast.Call) or ast.unparse(node.func) != 'tf.function':
    return False
  return 'autograph' not in [keyword.arg for keyword in node.keywords]


def _is_forbidden(node: ast.AST) -> str:
  """Returns the fault of `node`, or ''."""
  if isinstance(node, ast.keyword) and node.arg == 'allow_pickle':
    if ast.unparse(node.value) != 'False':
      return 'allow_pickle: loading may run code. Store plain arrays.'
    return ''
  if _converts(node):
    return (
      'tf.function without autograph=False: a first step takes twice as long.'
    )
  return ''


class ArchitectureTest(parameterized.TestCase):
  def _assert_none(self, offences: list[str], must_hold: str):
    if offences:
      self.fail('\n  '.join([must_hold, *offences]))

  def test_import_table_has_every_package_and_no_cycle(self):
    table = source_tree.MAY_IMPORT
    folders = {p.parent.name for p in source_tree.ROOT.glob('realm_tf/*/*.py')}
    self.assertContainsSubset(
      folders, table, 'Add the package to tests/source_tree.py.'
    )
    graph = {name: row.split() for name, row in table.items()}
    order = list(graphlib.TopologicalSorter(graph).static_order())
    self.assertCountEqual(order, table, 'A row names an unknown package.')

  def test_packages_import_only_what_they_may(self):
    offences = []
    for name in source_tree.python_files('realm_tf'):
      if pathlib.PurePath(name).name == '__init__.py':
        continue
      package = source_tree.package_of(name[:-3].replace('/', '.'))
      allowed = source_tree.allowed(package)
      for line, module in source_tree.imports(name):
        top = module.split('.')[0]
        sideways = top in ('', 'bin', 'benchmarks', 'launch', 'tests')
        if sideways or (
          top == 'realm_tf' and source_tree.package_of(module) not in allowed
        ):
          offences.append(f'{name}:{line} imports {module}')
    self._assert_none(
      offences,
      'realm_tf imports only by full path, and only downwards '
      '(tests/source_tree.py has the table). Move the code, or pass the '
      'object in.',
    )

  def test_only_tests_import_bin(self):
    offences = []
    for name in source_tree.python_files(*_SOURCES):
      for line, module in source_tree.imports(name):
        if module.split('.')[0] != 'bin':
          continue
        if not (name.startswith('bin/') and module in _SHARED):
          offences.append(f'{name}:{line} imports {module}')
    self._assert_none(offences, 'Logic belongs in realm_tf, not in bin.')

  def test_bin_uses_relative_imports(self):
    # bin.launcher of a checkout is realm_tf.bin.launcher when installed.
    offences = [
      f'{name}:{node.lineno}'
      for name in source_tree.python_files('bin')
      for node in ast.walk(source_tree.parse(name))
      if isinstance(node, ast.ImportFrom) and node.module == 'bin'
    ]
    self._assert_none(offences, 'Write `from . import launcher`.')

  def test_recipes_import_only_the_config_and_each_other(self):
    offences = [
      f'{name}:{line} imports {module}'
      for name in source_tree.python_files('launch')
      for line, module in source_tree.imports(name)
      if module.startswith('realm_tf.')
      and not module.startswith(_RECIPES_MAY_IMPORT)
    ]
    self._assert_none(
      offences, 'A recipe is data: the work is in bin/ and realm_tf/.'
    )

  def test_heavy_dependencies_have_one_adapter(self):
    offences = []
    for name in source_tree.python_files('realm_tf', 'bin', 'launch'):
      for line, module in source_tree.imports(name):
        adapters = _ADAPTERS.get(module.split('.')[0])
        if adapters is not None and not name.startswith(tuple(adapters)):
          offences.append(f'{name}:{line} imports {module}; {adapters} may')
    self._assert_none(offences, 'A heavy package is imported by its adapter.')

  def test_no_pickled_arrays_and_no_autograph(self):
    offences = []
    for name in source_tree.python_files('realm_tf', 'bin', 'launch'):
      for node in ast.walk(source_tree.parse(name)):
        problem = _is_forbidden(node)
        if problem:
          offences.append(f'{name}:{node.lineno} {problem}')
    self._assert_none(offences, 'The sources have forbidden code.')

  @parameterized.parameters(*_MAX_LINES.items())
  def test_files_stay_small(self, folder, limit):
    offences = []
    for name in source_tree.python_files(folder):
      num_lines = len((source_tree.ROOT / name).read_text().splitlines())
      if num_lines > limit:
        offences.append(f'{name} has {num_lines} lines')
    self._assert_none(
      offences,
      f'A file of {folder}/ has at most {limit} lines. Split it by concept.',
    )

  def test_functions_stay_short(self):
    offences = []
    for name in source_tree.python_files(*_SOURCES):
      for function in _functions(name):
        num_lines = function.end_lineno - function.lineno + 1
        if num_lines > _MAX_FUNCTION_LINES:
          offences.append(
            f'{name}:{function.lineno} {function.name}: {num_lines} lines'
          )
    self._assert_none(
      offences,
      f'A function has at most {_MAX_FUNCTION_LINES} lines, its docstring '
      'included. Find the two functions in it.',
    )

  def test_init_files_are_empty(self):
    offences = [
      name
      for name in source_tree.python_files(*_SOURCES, 'tests')
      if name.endswith('__init__.py')
      and os.path.dirname(name) not in _FACADES
      and (source_tree.ROOT / name).read_text()
    ]
    self._assert_none(
      offences, '`from realm_tf.index import exact_search`, never a facade.'
    )


if __name__ == '__main__':
  absltest.main()
