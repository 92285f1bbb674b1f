"""Tests for realm_tf.tpu.tpu_compiler, with a fake compiler."""

import json
import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.tpu import lowering
from realm_tf.tpu import tpu_compiler

_OTHERS = {'others': 24}


def _program(module=b''):
  return lowering.Program('a', None, (), 1, (), 4, module)


class TpuCompilerTest(parameterized.TestCase):
  def _python(self, *lines):
    """Returns the path of a program that runs instead of Python.

    $3 is the module, $4 the topology, $5 the number of replicas, and $6 the
    folder of the results.
    """
    path = pathlib.Path(self.create_tempdir().full_path) / 'python'
    versions = '[ "$1" = -c ] && echo 0.1 && exit'
    path.write_text('\n'.join(['#!/bin/sh', versions, *lines]))
    path.chmod(0o755)
    return str(path)

  def test_the_results_of_the_process_are_returned(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    figures = {
      'compile_secs': 2, 'argument_bytes': 1, 'output_bytes': 10,
      'temporary_bytes': 100, 'code_bytes': 1000,
    }  # fmt: skip
    (folder / 'result.json').write_text(json.dumps(figures))
    (folder / 'compiled.txt').write_text(
      'ENTRY %all () -> f32[2] {\n  %one = f32[2]{0} iota()\n'
      '  ROOT %two = f32[2]{0} all-reduce(%one)\n}\n'
    )
    python = self._python(
      'test "$(cat "$3")" = module && test "$4 $5" = "v5e:2x2 4" &&'
      f' cp {folder}/* "$6"'
    )
    compiler = tpu_compiler.Compiler(python)
    found = compiler.compile(_program(b'module'), 'v5e:2x2')
    self.assertEqual(found.compile_secs, 2)
    self.assertEqual(found.all_bytes, 1111)
    # Two floats are written, read and written again.
    self.assertEqual((found.traffic_bytes, found.error), (24, ''))
    self.assertEqual((found.reduced_bytes, dict(found.traffic)), (8, _OTHERS))

  def test_a_refusal_has_the_message_only(self):
    python = self._python(
      """echo '{"error": "no such op"}' >"$6/result.json" """
    )
    found = tpu_compiler.Compiler(python).compile(_program(), 'v5e:2x2')
    self.assertEqual((found.error, found.all_bytes), ('no such op', 0))

  def test_a_process_that_ends_without_a_result_gives_its_last_line(self):
    python = self._python('echo first >&2', 'echo no such slice >&2', 'exit 3')
    found = tpu_compiler.Compiler(python).compile(_program(), 'v5e:2x2')
    self.assertEqual(found.error, 'The compiler ended: no such slice')
    compiler = tpu_compiler.Compiler(self._python('exit 3'))
    silent = compiler.compile(_program(), 'v5e:2x2')
    self.assertIn('exit code 3', silent.error)

  def test_a_kept_compilation_is_not_repeated(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    python = self._python(
      f'echo "$4" >>{folder}/calls',
      'test "$4" = v9:1x1 && exit 1',
      """echo '{"error": "too large"}' >"$6/result.json" """,
    )

    def errors_of(topology, module=b'm'):
      compiler = tpu_compiler.Compiler(python, str(folder / 'cache'))
      return compiler.compile(_program(module), topology).error

    for _ in range(2):
      self.assertEqual(errors_of('v5e:2x2'), 'too large')
      # It may have been killed, so it is compiled again.
      self.assertIn('exit code 1', errors_of('v9:1x1'))
    errors_of('v5e:2x2', b'another')
    errors_of('v5e:2x4')
    self.assertEqual(
      (folder / 'calls').read_text().split(),
      ['v5e:2x2', 'v9:1x1', 'v9:1x1', 'v5e:2x2', 'v5e:2x4'],
    )

  def test_an_environment_without_jax_says_so(self):
    path = pathlib.Path(self._python())
    path.write_text('#!/bin/sh\necho "No module named \'jax\'" >&2; exit 1')
    with self.assertRaisesRegex(
      errors.UserError, "No module named 'jax'. Make"
    ):
      tpu_compiler.Compiler(str(path))


if __name__ == '__main__':
  absltest.main()
